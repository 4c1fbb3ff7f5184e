import type { BuildSpec } from '../../../contract/resource/build.ts';
import { ANNOTATIONS, LABELS, MANAGED_BY } from '../../../contract/resource/names.ts';
import { BUILD_STEP_NAMES, type BuildStep } from '../../../domain/builds/build.ts';
import type { Reason } from '../../../domain/conditions/conditions.ts';
import { deploymentId, labelValue } from '../../../workloads/labels.ts';
import type { KubeObject, UntypedObject } from '../../kube/client/object.ts';
import type { ObservedContainer, ObservedPod, ObservedResource, PodCondition } from '../observed.ts';

/** What is seen of builds in their namespace. */

/** A Job as far as it is read. */
export interface ObservedJob extends KubeObject {
  status?: { startTime?: string; conditions?: PodCondition[] };
}

/** Jobs and pods of one deployment, of whichever build. */
export interface ObservedBuilds {
  readonly jobs: readonly ObservedJob[];
  readonly pods: readonly ObservedPod[];
  /** Why its Job could not be made when that was last tried; null: it could, or was not tried. */
  readonly refusal: Refusal | null;
}

export interface Refusal {
  readonly reason: Extract<Reason, 'Conflict' | 'Refused'>;
  readonly message: string;
}

/** Drops what is not read. Messages stay whole: one of them is the result of the build. */
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
  const { name, namespace, uid, resourceVersion, labels, annotations, creationTimestamp, deletionTimestamp } =
    object.metadata;
  const { startTime, conditions } = (object as ObservedJob).status ?? {};
  const { [ANNOTATIONS.buildAttempt]: attempt } = annotations ?? {};
  return {
    apiVersion: object.apiVersion,
    kind: object.kind,
    metadata: {
      name,
      namespace,
      uid,
      resourceVersion,
      labels,
      ...(attempt === undefined ? {} : { annotations: { [ANNOTATIONS.buildAttempt]: attempt } }),
      creationTimestamp,
      deletionTimestamp,
    },
    status: { startTime, conditions },
  };
}

/** Whether a Job, a pod or a Secret is of this build of this deployment. */
export function isOfBuild({ metadata }: KubeObject, resource: ObservedResource, build: BuildSpec): boolean {
  const { labels = {} } = metadata;
  return isOfDeployment({ metadata }, resource) && labels[LABELS.revisionId] === labelValue(build.revisionId);
}

/**
 * Whether it was made for this resource. The id alone says nothing: whoever may write resources in a namespace of their
 * own can write somebody else's id into one.
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

/** Which attempt a Job is. */
export function attemptOf({ metadata }: ObservedJob): number {
  const attempt = Number(metadata.annotations?.[ANNOTATIONS.buildAttempt]);
  return Number.isInteger(attempt) && attempt > 0 ? attempt : 1;
}

/** How a Job has ended; null: it has not. */
export function endOf({ status }: ObservedJob): PodCondition | null {
  const isEnd = ({ type, status: holds }: PodCondition) =>
    holds === 'True' && (type === 'Complete' || type === 'Failed');
  return status?.conditions?.find(isEnd) ?? null;
}

/** The pod of a Job: the newest, should there be several. */
export function podOf(job: ObservedJob, pods: readonly ObservedPod[]): ObservedPod | undefined {
  return pods
    .filter(({ metadata }) => metadata.labels?.['batch.kubernetes.io/job-name'] === job.metadata.name)
    .sort((a, b) =>
      (a.metadata.creationTimestamp ?? '') < (b.metadata.creationTimestamp ?? '') ? 1 : -1,
    )[0];
}

/** Containers of a pod, by the steps that they are, in order. */
export function stepsOf({ status }: ObservedPod): { step: BuildStep; container: ObservedContainer }[] {
  const all = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
  return BUILD_STEP_NAMES.flatMap((step) => {
    const container = all.find(({ name }) => name === step);
    return container === undefined ? [] : [{ step, container }];
  });
}

/** On the way out for so long that its node has surely been lost: it holds nothing up any more. */
const STUCK_MS = 120_000;

/** Whether something of a build of this pod's may still run. */
export function mayRun({ metadata, status }: ObservedPod, now: number): boolean {
  if (status?.phase === 'Succeeded' || status?.phase === 'Failed') return false;
  const { deletionTimestamp } = metadata;
  return deletionTimestamp === undefined || now - Date.parse(deletionTimestamp) < STUCK_MS;
}

/** Whether the steps of a build are over, be it that its pod and its Job have yet to say so. */
export function stepsAreOver(pod: ObservedPod): boolean {
  const { phase } = pod.status ?? {};
  if (phase === 'Succeeded' || phase === 'Failed') return true;
  return stepsOf(pod).some(({ step, container }) => {
    const { terminated } = container.state ?? {};
    return terminated !== undefined && (terminated.exitCode !== 0 || step === 'result');
  });
}
