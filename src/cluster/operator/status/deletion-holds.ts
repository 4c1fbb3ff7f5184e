import { LABELS } from '../../../contract/resource/names.ts';
import {
  combinedHold,
  type DeletionHold,
  FOREGROUND,
  finalizerHold,
  podHold,
  podOverdueAt,
} from '../../../domain/deployment/deletion-hold.ts';
import type { Comparison } from '../decide/comparison.ts';
import type { ChildObject, Observed, ObservedPod } from '../observed.ts';

/** Finds what blocks the deletion of a deployment's objects, from the caches. Pure. */

/** Why a terminating pod does not end; null: unknown. */
function stuckPod(pod: ObservedPod, now: Date): DeletionHold | null {
  const named = { ...pod, node: pod.node ?? pod.lostNode };
  return finalizerHold(named) ?? podHold(named, now);
}

/** What blocks the terminating pods that do not end. */
export function stuckPods(pods: readonly ObservedPod[], now: Date): DeletionHold[] {
  return pods.flatMap((pod) => stuckPod(pod, now) ?? []);
}

/** All that blocks the deletion of the custom resource: its own finalizers and the objects that it owns. */
export function resourceHolds(
  { resource, children, leavingRevisions = [], pods }: Observed,
  now: Date,
): DeletionHold[] {
  const objects = [resource, ...children.values(), ...leavingRevisions];
  return [...objects.flatMap((object) => finalizerHold(object) ?? []), ...stuckPods(pods, now)];
}

/** Pods that block the foreground deletion of a workload. */
function podsAwaited(object: ChildObject, { pods }: Observed): readonly ObservedPod[] {
  if (object.metadata.finalizers?.includes(FOREGROUND) !== true) return [];
  const component = object.metadata.labels?.[LABELS.component];
  return pods.filter(({ metadata }) => metadata.labels?.[LABELS.component] === component);
}

/**
 * What blocks the deletion of desired objects that were deleted. Deleted objects can be created again only after their
 * deletion completes.
 */
export function wantedHold(
  observed: Observed,
  comparisons: readonly Comparison[],
  now: Date,
): DeletionHold | undefined {
  const leaving = comparisons.flatMap(({ state, live }) =>
    state === 'leaving' && live !== undefined ? [live] : [],
  );
  return combinedHold(
    leaving.flatMap((object) => {
      const held = finalizerHold(object);
      return [...(held === null ? [] : [held]), ...stuckPods(podsAwaited(object, observed), now)];
    }),
  );
}

/** What blocks the terminating pods of a component. */
export function componentPodHold(observed: Observed, component: string, now: Date): DeletionHold | undefined {
  const own = observed.pods.filter(({ metadata }) => metadata.labels?.[LABELS.component] === component);
  return combinedHold(stuckPods(own, now));
}

/** When the next terminating pod becomes overdue, in ms since the epoch; undefined: no pod will. */
export function nextOverdue({ pods }: Observed, now: number): number | undefined {
  const times = pods.flatMap((pod) => podOverdueAt(pod) ?? []).filter((time) => time > now);
  return times.length === 0 ? undefined : Math.min(...times);
}
