import type { V1PodTemplateSpec } from '@kubernetes/client-node';
import type { ObservedContainer, ObservedPod } from '../observed.ts';
import { CRASH_LOOP_RESTARTS } from '../rollout/failure-rules.ts';
import { containersOf, containerTrouble, type PodTrouble } from './pod-trouble.ts';

/**
 * Finds recent failures of containers that run again. A container that fails repeatedly runs for some time after each
 * restart, and its pod may be ready during this time. So a container counts as recovered only after it has run for
 * a minimum time.
 */

/** The last failure of a container that runs again. */
export interface RecentFailure {
  readonly trouble: PodTrouble;
  /** When the container counts as recovered, in ms since the epoch; Infinity: its start time is unknown. */
  readonly recoversAt: number;
}

const MIN_RECOVERY_MS = 30_000;
/** Maximum recovery time. After this time, Kubernetes also resets the back-off of a container. */
const MAX_RECOVERY_MS = 600_000;

/**
 * How long a container must run after this number of restarts to count as recovered. The time doubles, like the
 * kubelet's back-off.
 */
export function recoveryMs(restarts: number): number {
  return Math.min(MAX_RECOVERY_MS, MIN_RECOVERY_MS * 2 ** Math.max(0, restarts - 1));
}

/** Failures of containers that run again and have not recovered. */
export function recentFailures(
  pod: ObservedPod,
  template: V1PodTemplateSpec | undefined,
  now: number,
): RecentFailure[] {
  return containersOf(pod, template).flatMap((container) => {
    const { state, lastState, restartCount = 0 } = container.status;
    const ended = lastState?.terminated;
    if (state?.running === undefined || ended === undefined) return [];
    // Only an init container may exit with code 0. Other containers that repeatedly exit with code 0 also go into
    // back-off.
    const isLoop = container.kind !== 'init' && restartCount >= CRASH_LOOP_RESTARTS;
    if (ended.exitCode === 0 && !isLoop) return [];
    const reason = ended.exitCode === 0 ? 'CrashLoopBackOff' : (ended.reason ?? 'Error');
    const recoversAt = startOf(container.status) + recoveryMs(restartCount);
    if (recoversAt <= now) return [];
    return [{ trouble: containerTrouble(pod, container, reason), recoversAt }];
  });
}

/** Start time of the container, in ms since the epoch. */
function startOf({ state, lastState }: ObservedContainer): number {
  const times = [state?.running?.startedAt, lastState?.terminated?.finishedAt];
  const known = times.map((time) => Date.parse(time ?? ''));
  return known.find((time) => !Number.isNaN(time)) ?? Number.POSITIVE_INFINITY;
}
