import type { ObservedPod } from '../observed.ts';
import { type ObservedJob, stepsOf } from './observed-build.ts';

/**
 * Detects a build that does not start, if the cluster does not report why: no pod, or volumes that cannot be
 * mounted.
 */

/** Ordinary starts take less. After this time it is reported, and a missing Secret is restored. */
export const SLOW_MS = 45_000;
/** A kubelet retries mounts after 64 s and after 128 s, so it would have found a restored Secret. */
const LOST_MS = 180_000;
/** Condition of kubelets since 1.29: volumes and network of the pod are ready. */
const VOLUMES_READY = 'PodReadyToStartContainers';

export interface SlowStart {
  readonly message: string;
  /** Its volumes are not known to be ready: its Secret may be missing. */
  readonly lacksVolumes: boolean;
  /** This pod will not start. */
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
 * Why a build has not started; null: it has, it is not slow, or its pod is unscheduled and reports why.
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
  const slow = `it has not begun within ${SLOW_MS / 1000} s`;
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
      ? `; does the Secret ${secretName} exist, and is the network of its node up?`
      : `: ${waiting}`;
  return {
    message: `${slow}: its volumes or its network are not ready${why}`,
    lacksVolumes: true,
    lost: waited >= LOST_MS && (ready === 'False' || waiting !== ''),
  };
}

/** When the result of `slowStart` may change (ms since the epoch); null: not by time alone. */
export function slowStartRecheckAt(
  job: ObservedJob,
  pod: ObservedPod | undefined,
  now: number,
): number | null {
  if (pod !== undefined && !isUnbegun(pod)) return null;
  const from = since(job, pod);
  return [from + SLOW_MS, from + LOST_MS].find((at) => at > now) ?? null;
}
