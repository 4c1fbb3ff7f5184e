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

/** What blocks the deletion of objects of a deployment, as far as the caches show it. Pure. */

/** Why a pod that is being deleted does not end; null: nothing says so. */
function stuckPod(pod: ObservedPod, now: Date): DeletionHold | null {
  const named = { ...pod, node: pod.node ?? pod.lostNode };
  return finalizerHold(named) ?? podHold(named, now);
}

/** What blocks those of the pods that are being deleted and do not end. */
export function stuckPods(pods: readonly ObservedPod[], now: Date): DeletionHold[] {
  return pods.flatMap((pod) => stuckPod(pod, now) ?? []);
}

/** Everything that keeps the custom resource from its end: its own finalizers, and what it owns. */
export function resourceHolds(
  { resource, children, leavingRevisions = [], pods }: Observed,
  now: Date,
): DeletionHold[] {
  const objects = [resource, ...children.values(), ...leavingRevisions];
  return [...objects.flatMap((object) => finalizerHold(object) ?? []), ...stuckPods(pods, now)];
}

/** Pods of a workload that is deleted in the foreground: it waits for them. */
function podsAwaited(object: ChildObject, { pods }: Observed): readonly ObservedPod[] {
  if (object.metadata.finalizers?.includes(FOREGROUND) !== true) return [];
  const component = object.metadata.labels?.[LABELS.component];
  return pods.filter(({ metadata }) => metadata.labels?.[LABELS.component] === component);
}

/** What blocks wanted objects that somebody has deleted, and that can only be made again once they are gone. */
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

/** What blocks the pods of a component that are being deleted. */
export function componentPodHold(observed: Observed, component: string, now: Date): DeletionHold | undefined {
  const own = observed.pods.filter(({ metadata }) => metadata.labels?.[LABELS.component] === component);
  return combinedHold(stuckPods(own, now));
}

/** When the next pod that is being deleted should have ended, in ms since the epoch; undefined: none is to come. */
export function nextOverdue({ pods }: Observed, now: number): number | undefined {
  const times = pods.flatMap((pod) => podOverdueAt(pod) ?? []).filter((time) => time > now);
  return times.length === 0 ? undefined : Math.min(...times);
}
