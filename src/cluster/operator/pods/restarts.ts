import type { V1PodTemplateSpec } from '@kubernetes/client-node';
import type { ObservedContainer, ObservedPod } from '../observed.ts';
import { CRASH_LOOP_RESTARTS } from '../rollout/failure-rules.ts';
import { containersOf, containerTrouble, type PodTrouble } from './pod-trouble.ts';

/**
 * Containers between two restarts. A container that fails again and again runs for a while each time, and its pod may even
 * be ready meanwhile. That is no recovery: it has recovered once it has run for some time.
 */

/** A failure of a container that runs again now. */
export interface RecentFailure {
  readonly trouble: PodTrouble;
  /** When the container counts as recovered, in ms since the epoch; Infinity: it is not known since when it runs. */
  readonly recoversAt: number;
}

const FIRST_MS = 30_000;
/** After so long Kubernetes forgets the restarts of a container too: its back-off starts again. */
const LONGEST_MS = 600_000;

/** How long a container must run after so many restarts to count as recovered; doubles like the back-off of the kubelet. */
export function recoveryMs(restarts: number): number {
  return Math.min(LONGEST_MS, FIRST_MS * 2 ** Math.max(0, restarts - 1));
}

/** Failures of containers that run again, and have not recovered. */
export function recentFailures(
  pod: ObservedPod,
  template: V1PodTemplateSpec | undefined,
  now: number,
): RecentFailure[] {
  return containersOf(pod, template).flatMap((container) => {
    const { state, lastState, restartCount = 0 } = container.status;
    const ended = lastState?.terminated;
    if (state?.running === undefined || ended === undefined) return [];
    // Only an init container may end; another one that ends without an error, again and again, is put into back-off too.
    const isLoop = container.kind !== 'init' && restartCount >= CRASH_LOOP_RESTARTS;
    if (ended.exitCode === 0 && !isLoop) return [];
    const reason = ended.exitCode === 0 ? 'CrashLoopBackOff' : (ended.reason ?? 'Error');
    const recoversAt = startOf(container.status) + recoveryMs(restartCount);
    if (recoversAt <= now) return [];
    return [{ trouble: containerTrouble(pod, container, reason), recoversAt }];
  });
}

/** Since when it runs, in ms since the epoch. */
function startOf({ state, lastState }: ObservedContainer): number {
  const times = [state?.running?.startedAt, lastState?.terminated?.finishedAt];
  const known = times.map((time) => Date.parse(time ?? ''));
  return known.find((time) => !Number.isNaN(time)) ?? Number.POSITIVE_INFINITY;
}
