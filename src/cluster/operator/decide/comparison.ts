import { isDeepStrictEqual } from 'node:util';
import { ANNOTATIONS } from '../../../contract/resource/names.ts';
import type { DesiredObject, KubeObject } from '../../../workloads/desired-object.ts';
import { type Difference, whyApply } from '../../kube/compare/compare.ts';
import { type Additions, additionsOf } from '../changes/added-fields.ts';
import type { KnownResponse } from '../changes/cluster-changes.ts';
import { changeHash, namesAddition, replicasKey } from '../changes/cluster-changes.ts';
import { boundedCache } from '../observe/bounded-cache.ts';
import { type ChildObject, idOf, type Observed } from '../observed.ts';
import { workloadState } from '../pods/workload-state.ts';

/** A desired object compared with the object in the cluster. */
export interface Comparison {
  readonly id: string;
  readonly desired: DesiredObject;
  readonly object: KubeObject;
  /**
   * `missing`: the object does not exist. `leaving`: an object of this name is being deleted. `different`: the object
   * must be applied. `same`: the object is as desired, apart from safe changes by the cluster. Credentials are never
   * read for this. The credentials count as present when the volume exists, because the volume is created after them.
   */
  readonly state: 'missing' | 'leaving' | 'different' | 'same';
  readonly live: ChildObject | undefined;
  readonly differences: readonly Difference[];
  /** Fields of other writers that Berth does not change. */
  readonly kept?: readonly Difference[];
  /**
   * The known change by the cluster, if it explains all differences; absent: no change is known, or other differences
   * exist.
   */
  readonly change?: KnownResponse | undefined;
  /** How the cluster changed the last written number of pods. */
  readonly replicasChange?: KnownResponse | undefined;
}

/** Path of a field that Berth does not own but reverts. */
export const PAUSED_PATH = 'spec.paused';

/**
 * After `kubectl rollout pause`, a Deployment does not roll out any change, not even a rollback. Therefore the operator
 * reverts the pause. To pause a deployment, users set the annotation, which the status reports.
 */
function pausedByHand(live: ChildObject): Difference[] {
  if (live.kind !== 'Deployment' || !workloadState(live).paused) return [];
  return [
    {
      path: PAUSED_PATH,
      why: `is true, not false (to pause the deployment, set the annotation ${ANNOTATIONS.paused})`,
    },
  ];
}

interface Found {
  readonly object: KubeObject;
  readonly differences: readonly Difference[];
  readonly additions: Additions;
}

/** Maximum number of cached results. A result takes some KiB, and a deployment has about ten results. */
const MAX_COMPARED = 500;

/**
 * Results by cached object, which never changes. The desired object usually equals the desired object of the previous
 * reconcile.
 */
const compared = boundedCache<ChildObject, Found>(MAX_COMPARED);

function compareObject(object: KubeObject, live: ChildObject): Found {
  const known = compared.get(live);
  if (known !== undefined && isDeepStrictEqual(known.object, object)) return known;
  const additions = additionsOf(object, live);
  const drift = whyApply(object, live, ANNOTATIONS.appliedHash);
  const differences = [...drift, ...additions.refused, ...pausedByHand(live)];
  const result = { object, differences, additions };
  compared.set(live, result);
  return result;
}

/** How the live object differs from the applied object; empty: it does not differ. */
export function differencesOf(object: KubeObject, live: ChildObject): readonly Difference[] {
  return compareObject(object, live).differences;
}

/** Fields of the live object that are not part of the applied object. */
export function additionsIn(object: KubeObject, live: ChildObject): Additions {
  return compareObject(object, live).additions;
}

/** The known response to an apply, if it explains how the object differs. */
function knownChange(
  { responses }: Observed,
  id: string,
  object: KubeObject,
  differences: readonly Difference[],
  kept: readonly Difference[],
): KnownResponse | undefined {
  const response = responses?.get(id);
  if (response === undefined) return undefined;
  if (differences.length === 0 && !stillAdds(response, kept)) return undefined;
  return response.hash === changeHash(object, differences) ? response : undefined;
}

/** Whether the object still has a field that the cluster added. */
export function stillAdds(response: Pick<KnownResponse, 'fields'>, kept: readonly Difference[]): boolean {
  return kept.some((addition) => namesAddition(response, addition));
}

/** The known response to a write whose labels or owner the cluster changed, so that the caches do not show the object. */
function hidden({ responses }: Observed, id: string): KnownResponse | undefined {
  const response = responses?.get(id);
  return response?.hides === true ? response : undefined;
}

/**
 * Compares the desired objects with the observed objects, in the order of creation. Pod counts are not compared here.
 */
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
    const change = knownChange(observed, comparison.id, object, differences, kept);
    const replicasChange = observed.responses?.get(replicasKey(id));
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
