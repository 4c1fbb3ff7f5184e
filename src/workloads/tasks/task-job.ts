import type { V1Container, V1JobSpec, V1PodSpec, V1PodTemplateSpec } from '@kubernetes/client-node';
import { DEPLOYMENT_TASK } from '../../contract/resource/definition.ts';
import type { DeploymentTask } from '../../contract/resource/deployment-task.ts';
import type { ManagedDeployment } from '../../contract/resource/managed-deployment.ts';
import { LABELS } from '../../contract/resource/names.ts';
import { APP_CONTAINER_NAME } from '../../domain/deployment/reserved.ts';
import { TASK_HISTORY, TASK_START_SECONDS } from '../../domain/tasks/task.ts';
import type { KubeObject } from '../desired-object.ts';
import { commonLabels, TASK_COMPONENT, TEMPLATE_HASH_LABEL } from '../labels.ts';

/**
 * The Job of a task: the stored pod template of a component, with the command of the task. It is created suspended, and
 * runs when its uid is recorded in the status of the task (docs/decisions/0145).
 */

/** Time that the Job has beyond start, command and termination, in seconds. The kubelet ends the command before. */
const MARGIN_SECONDS = 60;
/** Termination grace period of Kubernetes, in seconds. */
const DEFAULT_GRACE_SECONDS = 30;

/** What a Job runs, and its sizes. Absent sizes: those of the component. */
export type JobCommand = Pick<DeploymentTask['spec'], 'command' | 'timeoutSeconds' | 'cpu' | 'memory'>;

/**
 * @param template the stored template of the component, for the revision of the task
 */
export function taskJob(
  resource: ManagedDeployment,
  task: DeploymentTask,
  template: V1PodTemplateSpec,
): KubeObject {
  const { name, namespace, uid = '' } = task.metadata;
  const { apiVersion, kind } = DEPLOYMENT_TASK;
  const labels = { ...commandLabels(resource, template), [LABELS.taskUid]: uid };
  const spec: V1JobSpec = { suspend: true, ...commandJobSpec(task.spec, template, labels) };
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: {
      name,
      namespace,
      labels,
      ownerReferences: [{ apiVersion, kind, name, uid, controller: true }],
    },
    spec,
  };
}

/** The spec of a Job that runs a command once, in a pod with these labels. */
export function commandJobSpec(
  command: JobCommand,
  template: V1PodTemplateSpec,
  labels: Record<string, string>,
): V1JobSpec {
  const pod = commandPod(command, template);
  const grace = pod.terminationGracePeriodSeconds ?? DEFAULT_GRACE_SECONDS;
  return {
    backoffLimit: 0,
    completions: 1,
    parallelism: 1,
    // The kubelet measures the timeout from the start of the pod. This deadline also ends a command without a kubelet.
    activeDeadlineSeconds: TASK_START_SECONDS + command.timeoutSeconds + grace + MARGIN_SECONDS,
    ttlSecondsAfterFinished: TASK_HISTORY.jobSeconds,
    template: { metadata: podMetadata(template, labels), spec: pod },
  };
}

/** The labels of a Job of a deployment and its pod. */
export function commandLabels(
  resource: ManagedDeployment,
  { metadata }: V1PodTemplateSpec,
): Record<string, string> {
  const { [LABELS.version]: version, [LABELS.revisionId]: revision } = metadata?.labels ?? {};
  return {
    ...commonLabels(resource, TASK_COMPONENT),
    ...(version === undefined ? {} : { [LABELS.version]: version }),
    ...(revision === undefined ? {} : { [LABELS.revisionId]: revision }),
  };
}

/** The labels of the tenant stay, and those of the component are replaced. */
function podMetadata({ metadata }: V1PodTemplateSpec, own: Record<string, string>) {
  const { [TEMPLATE_HASH_LABEL]: _, ...labels } = metadata?.labels ?? {};
  const { annotations } = metadata ?? {};
  return { labels: { ...labels, ...own }, ...(annotations === undefined ? {} : { annotations }) };
}

function commandPod(command: JobCommand, { spec }: V1PodTemplateSpec): V1PodSpec {
  if (spec === undefined) throw new Error('failed to render a task: the stored template has no pod');
  const { topologySpreadConstraints: _, containers, initContainers = [], ...pod } = spec;
  const besides = containers.filter(({ name }) => name !== APP_CONTAINER_NAME);
  const started = [...initContainers, ...besides.map(asNativeSidecar)];
  return {
    ...pod,
    restartPolicy: 'Never',
    activeDeadlineSeconds: command.timeoutSeconds,
    ...(started.length === 0 ? {} : { initContainers: started }),
    containers: containers
      .filter(({ name }) => name === APP_CONTAINER_NAME)
      .map((container) => commandContainer(container, command)),
  };
}

/** A sidecar that ends with the command. An ordinary one would keep the Job running. */
const asNativeSidecar = (container: V1Container): V1Container => ({
  ...forTask(container),
  restartPolicy: 'Always',
});

/** Without the parts that are for a server: a probe would end a migration, and no traffic arrives. */
function forTask(container: V1Container): V1Container {
  const {
    startupProbe: _1,
    livenessProbe: _2,
    readinessProbe: _3,
    lifecycle: _4,
    ports: _5,
    ...rest
  } = container;
  return rest;
}

function commandContainer(container: V1Container, { command, ...sizes }: JobCommand): V1Container {
  const { args: _, ...rest } = forTask(container);
  return {
    ...rest,
    command: [...command],
    ...sized(container, sizes),
    // The last lines are shown for a failed command.
    terminationMessagePolicy: 'FallbackToLogsOnError',
  };
}

/** Requests and limits of the task, instead of those of the component. */
function sized(
  { resources }: V1Container,
  { cpu, memory }: Pick<JobCommand, 'cpu' | 'memory'>,
): Pick<V1Container, 'resources'> {
  const own = { ...(cpu === undefined ? {} : { cpu }), ...(memory === undefined ? {} : { memory }) };
  if (Object.keys(own).length === 0) return resources === undefined ? {} : { resources };
  return {
    resources: {
      ...resources,
      requests: { ...resources?.requests, ...own },
      limits: { ...resources?.limits, ...own },
    },
  };
}

/** Names of the volume claims that a template mounts. */
export function claimsOf({ spec }: V1PodTemplateSpec): string[] {
  return (spec?.volumes ?? []).flatMap((volume) => volume.persistentVolumeClaim?.claimName ?? []);
}
