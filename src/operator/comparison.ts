import { isDeepStrictEqual } from 'node:util';
import { ANNOTATIONS } from '../contract/names.ts';
import { type Difference, whyApply } from '../kube/compare.ts';
import type { DesiredObject, KubeObject } from '../workloads/desired-object.ts';
import type { KnownAnswer } from './cluster-answers.ts';
import { replicasKey } from './cluster-answers.ts';
import { changeHash } from './cluster-changes.ts';
import { type ChildObject, idOf, type Observed } from './observed.ts';
import { recently } from './recently.ts';
import { workloadState } from './workload-state.ts';

/** One wanted object beside what is in the cluster. */
export interface Comparison {
  readonly id: string;
  readonly desired: DesiredObject;
  readonly object: KubeObject;
  /**
   * `missing`: not there. `leaving`: one that is being deleted still has the name. `different`: to be applied. `same`: as
   * it is wanted, but for a safe change of the cluster's.
   * Credentials are never read, so they count as there once the volume is, which is made after them.
   */
  readonly state: 'missing' | 'leaving' | 'different' | 'same';
  readonly live: ChildObject | undefined;
  readonly differences: readonly Difference[];
  /** The cluster made the differences of the last apply, and has left them since; absent: there are others, or none. */
  readonly change?: KnownAnswer | undefined;
  /** What the cluster made of the number of pods that was written last. */
  readonly replicasChange?: KnownAnswer | undefined;
}

/** Path of the one field of a Deployment that is not ours and yet not left to others. */
export const PAUSED_PATH = 'spec.paused';

/**
 * `kubectl rollout pause`: the Deployment follows no change any more, so whatever we write of it would not come about,
 * a way back included. To hold a deployment there is the annotation, which also says so in the status.
 */
function pausedByHand(live: ChildObject): Difference[] {
  if (live.kind !== 'Deployment' || !workloadState(live).paused) return [];
  return [
    { path: PAUSED_PATH, why: `is true, not false (to hold it: the annotation ${ANNOTATIONS.paused})` },
  ];
}

interface Found {
  readonly object: KubeObject;
  readonly differences: readonly Difference[];
}

/** Each takes some KiB; a deployment has about ten. */
const MOST_COMPARED = 500;

/** Of cached objects, which never change: most looks want of most of them what the look before has wanted. */
const compared = recently<ChildObject, Found>(MOST_COMPARED);

/** How the live object differs from what is applied; empty: it does not. */
export function differencesOf(object: KubeObject, live: ChildObject): readonly Difference[] {
  const known = compared.get(live);
  if (known !== undefined && isDeepStrictEqual(known.object, object)) return known.differences;
  const differences = [...whyApply(object, live, ANNOTATIONS.appliedHash), ...pausedByHand(live)];
  compared.set(live, { object, differences });
  return differences;
}

/** The known answer to an apply, if it is what the object differs in. */
function answered(
  { answers }: Observed,
  id: string,
  object: KubeObject,
  differences: readonly Difference[],
): KnownAnswer | undefined {
  const answer = answers?.get(id);
  if (answer === undefined || differences.length === 0) return undefined;
  return answer.hash === changeHash(object, differences) ? answer : undefined;
}

/** The known answer to a write that took the object out of sight. */
function hidden({ answers }: Observed, id: string): KnownAnswer | undefined {
  const answer = answers?.get(id);
  return answer?.hides === true ? answer : undefined;
}

/** Compares what is wanted with what is there, in the order of creation. Pod counts are not compared here. */
export function compareAll(desired: readonly DesiredObject[], observed: Observed): Comparison[] {
  const volumeIsThere = [...observed.children.values()].some(({ kind }) => kind === 'PersistentVolumeClaim');
  return desired.map((wanted) => {
    const { object } = wanted;
    const id = idOf(object);
    const comparison = { id, desired: wanted, object, live: undefined, differences: [] };
    if (wanted.contents === 'database-credentials') {
      return { ...comparison, state: volumeIsThere ? 'same' : 'missing' };
    }
    const live = observed.children.get(id);
    if (live === undefined) return { ...comparison, change: hidden(observed, id), state: 'missing' };
    if (live.metadata.deletionTimestamp !== undefined) return { ...comparison, state: 'leaving', live };
    const differences = wanted.policy === 'create-only' ? [] : differencesOf(object, live);
    const change = answered(observed, comparison.id, object, differences);
    const replicasChange = observed.answers?.get(replicasKey(id));
    const isSame = differences.length === 0 || change?.isSafe === true;
    return { ...comparison, live, differences, change, replicasChange, state: isSame ? 'same' : 'different' };
  });
}
