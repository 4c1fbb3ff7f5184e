import type { ObservedPod } from '../observed.ts';
import { type ObservedJob, stepsOf } from './observed-build.ts';

/**
 * Detects a build that does not start, if the cluster does not report the reason, such as a missing pod, or volumes
 * that cannot be mounted.
 */

/** Time after which a slow start is reported, and a missing Secret is restored. Ordinary starts take less time. */
export const SLOW_MS = 45_000;
/**
 * Time after which a build is lost. A kubelet retries mounts after 64 s and after 128 s, so it would have found a
 * restored Secret.
 */
const LOST_MS = 180_000;
/** The pod condition of kubelets since 1.29 that states that volumes and network of the pod are ready. */
const VOLUMES_READY = 'PodReadyToStartContainers';

export interface SlowStart {
  readonly message: string;
  /** Whether the volumes of the pod may not be ready, for example because its Secret is missing. */
  readonly lacksVolumes: boolean;
  /** Whether this pod will not start. */
  readonly lost: boolean;
}

/** Whether no step of the pod has started. */
export function isUnbegun(pod: ObservedPod): boolean {
  return stepsOf(pod).every(({ container: { state = {} } }) => !state.running && !state.terminated);
}

function since(job: ObservedJob, pod: ObservedPod | undefined): number {
  const placed = pod?.status?.conditions?.find(({ type }) => type === 'PodScheduled');
  const { creationTimestamp } = (pod ?? job).metadata;
  return Date.parse(placed?.lastTransitionTime ?? creationTimestamp ?? '');
}

/**
 * Why a build has not started; null: it has started, it is not slow, or its pod is not scheduled and reports the
 * reason.
 * @param now ms since the epoch
 */
export function slowStart(
  job: ObservedJob,
  pod: ObservedPod | undefined,
  secretName: string,
  now: number,
): SlowStart | null {
  const waited = now - since(job, pod);
  if (!(waited >= SLOW_MS)) return null;
  const slow = `it has not started within ${SLOW_MS / 1000} s`;
  if (pod === undefined) {
    return { message: `${slow}: its Job ${job.metadata.name} has no pod`, lacksVolumes: false, lost: false };
  }
  if (!isUnbegun(pod) || pod.status?.phase === 'Failed') return null;
  const { conditions = [] } = pod.status ?? {};
  if (conditions.some(({ type, status }) => type === 'PodScheduled' && status === 'False')) return null;
  const waiting = stepsOf(pod)[0]?.container.state?.waiting?.message ?? '';
  const ready = conditions.find(({ type }) => type === VOLUMES_READY)?.status;
  if (ready === 'True') {
    return {
      message: `${slow}: the image of its first step is being pulled`,
      lacksVolumes: false,
      lost: false,
    };
  }
  const why =
    waiting === ''
      ? `; check that the Secret ${secretName} exists and that the network of its node works`
      : `: ${waiting}`;
  return {
    message: `${slow}: its volumes or its network are not ready${why}`,
    lacksVolumes: true,
    lost: waited >= LOST_MS && (ready === 'False' || waiting !== ''),
  };
}

/** When the result of `slowStart` may change (ms since the epoch); null: time alone does not change it. */
export function slowStartRecheckAt(
  job: ObservedJob,
  pod: ObservedPod | undefined,
  now: number,
): number | null {
  if (pod !== undefined && !isUnbegun(pod)) return null;
  const from = since(job, pod);
  return [from + SLOW_MS, from + LOST_MS].find((at) => at > now) ?? null;
}
