import type { ObservedPod } from '../observed.ts';
import { type ObservedJob, stepsOf } from './observed-build.ts';

/** A build that does not begin, where the cluster does not say why by itself: no pod, volumes that cannot be made. */

/** Ordinary starts take less; then it is told, and a Secret that is gone is written again. */
export const SLOW_MS = 45_000;
/** A kubelet tries volumes again after 64 s and after 128 s: a Secret that has come back meanwhile was found. */
const LOST_MS = 180_000;
/** Of kubelets since 1.29: volumes and network of the pod are there. */
const VOLUMES_READY = 'PodReadyToStartContainers';

export interface SlowStart {
  readonly message: string;
  /** Its volumes are missing, or nobody says that they are there: its Secret may be gone. */
  readonly lacksVolumes: boolean;
  /** Nothing more is to be expected of this pod. */
  readonly lost: boolean;
}

/** No step of it has begun. */
export function isUnbegun(pod: ObservedPod): boolean {
  return stepsOf(pod).every(({ container: { state = {} } }) => !state.running && !state.terminated);
}

function since(job: ObservedJob, pod: ObservedPod | undefined): number {
  const placed = pod?.status?.conditions?.find(({ type }) => type === 'PodScheduled');
  const { creationTimestamp } = (pod ?? job).metadata;
  return Date.parse(placed?.lastTransitionTime ?? creationTimestamp ?? '');
}

/**
 * Why a build has not begun yet; null: it has, its start is no slower than others, or its pod has no node and says why.
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
  const told = stepsOf(pod)[0]?.container.state?.waiting?.message ?? '';
  const ready = conditions.find(({ type }) => type === VOLUMES_READY)?.status;
  if (ready === 'True') {
    return {
      message: `${slow}: the image of its first step is being pulled`,
      lacksVolumes: false,
      lost: false,
    };
  }
  const why =
    told === '' ? `; does the Secret ${secretName} exist, and is the network of its node up?` : `: ${told}`;
  return {
    message: `${slow}: its volumes or its network are not ready${why}`,
    lacksVolumes: true,
    lost: waited >= LOST_MS && (ready === 'False' || told !== ''),
  };
}

/** When what `slowStart` says may be another (ms since the epoch); null: never, by time alone. */
export function slowStartRecheckAt(
  job: ObservedJob,
  pod: ObservedPod | undefined,
  now: number,
): number | null {
  if (pod !== undefined && !isUnbegun(pod)) return null;
  const from = since(job, pod);
  return [from + SLOW_MS, from + LOST_MS].find((at) => at > now) ?? null;
}
