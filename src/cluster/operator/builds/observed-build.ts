import type { BuildSpec } from '../../../contract/resource/build.ts';
import { ANNOTATIONS, LABELS, MANAGED_BY } from '../../../contract/resource/names.ts';
import { BUILD_STEP_NAMES, type BuildStep } from '../../../domain/builds/build.ts';
import type { Reason } from '../../../domain/conditions/conditions.ts';
import { deploymentId, labelValue } from '../../../workloads/labels.ts';
import { hasEnded, type KubeObject, type UntypedObject } from '../../kube/client/object.ts';
import { identityFields } from '../observe/cached-fields.ts';
import type { ObservedContainer, ObservedPod, ObservedResource, PodCondition } from '../observed.ts';

/** Observed state of builds in the build namespace. */

/** The part of a Job that is read. */
export interface ObservedJob extends KubeObject {
  status?: { startTime?: string; conditions?: PodCondition[] };
}

/** Jobs and pods of all builds of one deployment. */
export interface ObservedBuilds {
  readonly jobs: readonly ObservedJob[];
  readonly pods: readonly ObservedPod[];
  /** Why the last creation of a Job was rejected; null: it was not rejected. */
  readonly refusal: JobRefusal | null;
}

export interface JobRefusal {
  readonly reason: Extract<Reason, 'Conflict' | 'Refused'>;
  readonly message: string;
}

/** Drops unread fields of a build pod. Messages are kept complete, because one of them is the build result. */
export function transformBuildPod(object: UntypedObject): UntypedObject {
  const { name, namespace, uid, resourceVersion, labels, creationTimestamp, deletionTimestamp } =
    object.metadata;
  const { phase, reason, message, conditions, initContainerStatuses, containerStatuses } =
    (object as ObservedPod).status ?? {};
  const metadata = { name, namespace, uid, resourceVersion, labels, creationTimestamp, deletionTimestamp };
  return {
    apiVersion: object.apiVersion,
    kind: object.kind,
    metadata,
    status: { phase, reason, message, conditions, initContainerStatuses, containerStatuses },
  };
}

export function transformJob(object: UntypedObject): UntypedObject {
  const { startTime, conditions } = (object as ObservedJob).status ?? {};
  const { [ANNOTATIONS.buildAttempt]: attempt } = object.metadata.annotations ?? {};
  return {
    apiVersion: object.apiVersion,
    kind: object.kind,
    metadata: {
      ...identityFields(object.metadata),
      ...(attempt === undefined ? {} : { annotations: { [ANNOTATIONS.buildAttempt]: attempt } }),
    },
    status: { startTime, conditions },
  };
}

/** Whether an object belongs to this build of this deployment. */
export function isOfBuild({ metadata }: KubeObject, resource: ObservedResource, build: BuildSpec): boolean {
  const { labels = {} } = metadata;
  return isOfDeployment({ metadata }, resource) && labels[LABELS.revisionId] === labelValue(build.revisionId);
}

/**
 * Whether an object belongs to this resource. The id alone does not prove that the object belongs to the resource,
 * because a user can write the id of another deployment into a resource of their own namespace.
 */
export function isOfDeployment(
  { metadata }: Pick<KubeObject, 'metadata'>,
  resource: ObservedResource,
): boolean {
  const { labels = {} } = metadata;
  return (
    labels[LABELS.managedBy] === MANAGED_BY &&
    labels[LABELS.namespace] === labelValue(resource.metadata.namespace) &&
    labels[LABELS.instance] === labelValue(resource.metadata.name) &&
    labels[LABELS.deploymentId] === labelValue(deploymentId(resource))
  );
}

/** Attempt number of a Job. */
export function attemptOf({ metadata }: ObservedJob): number {
  const attempt = Number(metadata.annotations?.[ANNOTATIONS.buildAttempt]);
  return Number.isInteger(attempt) && attempt > 0 ? attempt : 1;
}

/** The newest pod of a Job. */
export function podOf(job: ObservedJob, pods: readonly ObservedPod[]): ObservedPod | undefined {
  return pods
    .filter(({ metadata }) => metadata.labels?.['batch.kubernetes.io/job-name'] === job.metadata.name)
    .sort((a, b) =>
      (a.metadata.creationTimestamp ?? '') < (b.metadata.creationTimestamp ?? '') ? 1 : -1,
    )[0];
}

/** The build steps of a pod with their containers, in order. */
export function stepsOf({ status }: ObservedPod): { step: BuildStep; container: ObservedContainer }[] {
  const all = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
  return BUILD_STEP_NAMES.flatMap((step) => {
    const container = all.find(({ name }) => name === step);
    return container === undefined ? [] : [{ step, container }];
  });
}

/**
 * Maximum duration of the termination of a pod. A pod that takes longer has lost its node, and no longer blocks a
 * build.
 */
const STUCK_MS = 120_000;

/** Whether a container of a build pod may still run. */
export function mayRun(pod: ObservedPod, now: number): boolean {
  if (hasEnded(pod)) return false;
  const { deletionTimestamp } = pod.metadata;
  return deletionTimestamp === undefined || now - Date.parse(deletionTimestamp) < STUCK_MS;
}

/** Whether the steps of a build are done, even if pod and Job do not report it yet. */
export function stepsAreOver(pod: ObservedPod): boolean {
  if (hasEnded(pod)) return true;
  return stepsOf(pod).some(({ step, container }) => {
    const { terminated } = container.state ?? {};
    return terminated !== undefined && (terminated.exitCode !== 0 || step === 'result');
  });
}
