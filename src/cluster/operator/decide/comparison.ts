import { isDeepStrictEqual } from 'node:util';
import { ANNOTATIONS } from '../../../contract/resource/names.ts';
import type { DesiredObject, KubeObject } from '../../../workloads/desired-object.ts';
import { type Difference, whyApply } from '../../kube/compare/compare.ts';
import type { KnownAnswer } from '../act/cluster-responses.ts';
import { replicasKey } from '../act/cluster-responses.ts';
import { type Additions, additionsOf } from '../changes/added-fields.ts';
import { changeHash, namesAddition } from '../changes/cluster-changes.ts';
import { boundedCache } from '../observe/recently.ts';
import { type ChildObject, idOf, type Observed } from '../observed.ts';
import { workloadState } from '../pods/workload-state.ts';

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
  /** Fields beside ours that are left as they are. */
  readonly kept?: readonly Difference[];
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
  readonly additions: Additions;
}

/** Each takes some KiB; a deployment has about ten. */
const MOST_COMPARED = 500;

/** Of cached objects, which never change: most looks want of most of them what the look before has wanted. */
const compared = boundedCache<ChildObject, Found>(MOST_COMPARED);

function found(object: KubeObject, live: ChildObject): Found {
  const known = compared.get(live);
  if (known !== undefined && isDeepStrictEqual(known.object, object)) return known;
  const additions = additionsOf(object, live);
  const drift = whyApply(object, live, ANNOTATIONS.appliedHash);
  const differences = [...drift, ...additions.refused, ...pausedByHand(live)];
  const result = { object, differences, additions };
  compared.set(live, result);
  return result;
}

/** How the live object differs from what is applied; empty: it does not. */
export function differencesOf(object: KubeObject, live: ChildObject): readonly Difference[] {
  return found(object, live).differences;
}

/** What is in the live object beside what is applied. */
export function additionsIn(object: KubeObject, live: ChildObject): Additions {
  return found(object, live).additions;
}

/** The known answer to an apply, if it is what the object differs in. */
function answered(
  { answers }: Observed,
  id: string,
  object: KubeObject,
  differences: readonly Difference[],
  kept: readonly Difference[],
): KnownAnswer | undefined {
  const answer = answers?.get(id);
  if (answer === undefined) return undefined;
  if (differences.length === 0 && !stillAdds(answer, kept)) return undefined;
  return answer.hash === changeHash(object, differences) ? answer : undefined;
}

/** Whether something that the cluster has added is still there. */
export function stillAdds(answer: Pick<KnownAnswer, 'fields'>, kept: readonly Difference[]): boolean {
  return kept.some((addition) => namesAddition(answer, addition));
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
    const isApplied = wanted.policy !== 'create-only';
    const differences = isApplied ? differencesOf(object, live) : [];
    const kept = isApplied ? additionsIn(object, live).kept : [];
    const change = answered(observed, comparison.id, object, differences, kept);
    const replicasChange = observed.answers?.get(replicasKey(id));
    const isSame = differences.length === 0 || change?.isSafe === true;
    return {
      ...comparison,
      live,
      differences,
      kept,
      change,
      replicasChange,
      state: isSame ? 'same' : 'different',
    };
  });
}
