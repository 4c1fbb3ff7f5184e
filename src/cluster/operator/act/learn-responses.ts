import type { KubeObject } from '../../kube/client/object.ts';
import type { Difference } from '../../kube/compare/compare.ts';
import type { Action } from '../action.ts';
import { clusterChange, namesAddition, replicasChange, replicasKey } from '../changes/cluster-changes.ts';
import { additionsIn, type Comparison, differencesOf, stillAdds } from '../decide/comparison.ts';
import type { Failure } from '../observe/failure.ts';
import { type ChildObject, idOf, type Observed } from '../observed.ts';
import type { ClusterResponses } from './cluster-responses.ts';
import { replicasOf } from './execute.ts';

/** Learns from the responses to writes how the cluster changes them, and reports it. */

/** Whether only a dry run was sent, which showed that the cluster still changes the object as before. */
export function isProbeAlone(action: Action, written: KubeObject | undefined): boolean {
  if (action.kind === 'replace') return written === undefined;
  const isProbed = action.kind === 'create' || action.kind === 'apply' || action.kind === 'scale';
  return isProbed && action.probe !== undefined && written === undefined;
}

/** Notes how the cluster has changed the latest writes. */
export function learnResponses(
  responses: ClusterResponses,
  given: readonly (readonly [Action, KubeObject | undefined])[],
  comparisons: readonly Comparison[],
  ticks: number,
): void {
  for (const [action, written] of given) {
    if (action.kind === 'replace' && written === undefined) {
      const { id, object, differences } = action.comparison;
      responses.note(id, clusterChange(object, differences), ticks);
    }
    if (action.kind !== 'apply' && action.kind !== 'scale' && action.kind !== 'create') continue;
    if (action.kind === 'create' && action.once) continue;
    const id = idOf(action.object);
    const key = action.kind === 'scale' ? replicasKey(id) : id;
    if (isProbeAlone(action, written)) responses.noteSame(key, ticks);
    if (written === undefined) continue;
    const response = written as ChildObject;
    const change =
      action.kind === 'scale'
        ? replicasChange(action.replicas, replicasOf(written))
        : clusterChange(
            action.object,
            differencesOf(action.object, response),
            addedBy(responses, action, response, comparisons),
          );
    responses.note(key, change, ticks);
  }
}

/**
 * The kept additions that the cluster made in this response: new additions, and those that the cluster is known to
 * make.
 */
function addedBy(
  responses: ClusterResponses,
  { kind, object }: Extract<Action, { kind: 'create' | 'apply' }>,
  response: ChildObject,
  comparisons: readonly Comparison[],
): readonly Difference[] {
  const { kept } = additionsIn(object, response);
  if (kind === 'create' || kept.length === 0) return kept;
  const id = idOf(object);
  const before = comparisons.find((comparison) => comparison.id === id)?.kept ?? [];
  const known = responses.of(id);
  return kept.filter(
    (addition) =>
      !before.some(({ path }) => path === addition.path) ||
      (known !== undefined && namesAddition(known, addition)),
  );
}

/**
 * Removes responses that the objects no longer show, because the objects were corrected or are gone. An object that has
 * lost its labels and owner is not in the caches although it exists, so its response is kept.
 */
export function forgetResponses(
  responses: ClusterResponses,
  comparisons: readonly Comparison[],
  given: readonly (readonly [Action, KubeObject | undefined])[],
): void {
  const fresh = new Set(
    given.flatMap(([action]) => ('object' in action ? [idOf(action.object as KubeObject)] : [])),
  );
  const holding = comparisons.flatMap((comparison) => {
    const { id, live, differences, kept = [], replicasChange: known } = comparison;
    if (fresh.has(id)) return [id, replicasKey(id)];
    if (live === undefined) return [];
    const isOther = known !== undefined && hasOtherNumber(comparison);
    const response = responses.of(id);
    const stands = differences.length > 0 || (response !== undefined && stillAdds(response, kept));
    return [...(stands ? [id] : []), ...(isOther ? [replicasKey(id)] : [])];
  });
  const held = new Set(holding);
  const missing = new Set(comparisons.flatMap(({ id, live }) => (live === undefined ? [id] : [])));
  responses.keep((key, { hides }) => held.has(key) || (hides === true && missing.has(key)));
}

function hasOtherNumber({ desired: { replicas }, live }: Comparison): boolean {
  if (replicas === undefined || live === undefined) return false;
  const now = replicasOf(live);
  return replicas.kind === 'fixed' ? now !== replicas.count : now === 0;
}

/** The object of a response, as text for users: `Deployment shop-api`. */
const objectText = (key: string) => key.replace(/ replicas$/, '').replace('/', ' ');

const SHOWN = 3;

function sentences({ responses }: Observed, isSafe: boolean): string {
  // The order is stable, because a changed text causes a write of the status.
  const changes = [...(responses ?? [])]
    .filter(([, response]) => response.isSafe === isSafe)
    .sort(([a], [b]) => (a < b ? -1 : 1));
  const shown = changes.slice(0, SHOWN).map(([key, { fields }]) => `${objectText(key)}: ${fields}`);
  const more = changes.length > SHOWN ? [`${changes.length - SHOWN} more objects`] : [];
  return [...shown, ...more].join('; ');
}

/** The failures for unsafe changes by the cluster, which make workloads differ from the desired state. */
export function changeFailures(observed: Observed): Failure[] {
  const changed = sentences(observed, false);
  if (changed === '') return [];
  const message = `an admission policy or webhook of the cluster changes objects that Berth writes: ${changed}`;
  return [{ actionId: '', reason: 'FieldsChangedByCluster', final: false, message }];
}

/** The safe changes by the cluster as text for users; empty: none. */
export function safeChanges(observed: Observed): string {
  return sentences(observed, true);
}

/** The safe changes in the form of the status. */
export function acceptedChanges({ responses }: Observed): { object: string; hash: string; fields: string }[] {
  return [...(responses ?? [])]
    .filter(([, { isSafe }]) => isSafe)
    .map(([object, { hash, fields }]) => ({ object, hash, fields }))
    .sort((a, b) => (a.object < b.object ? -1 : 1));
}
