import type { KubeObject } from '../kube/object.ts';
import type { Action } from './action.ts';
import { type ClusterAnswers, replicasKey } from './cluster-answers.ts';
import { clusterChange, replicasChange } from './cluster-changes.ts';
import { type Comparison, differencesOf } from './comparison.ts';
import { replicasOf } from './execute.ts';
import type { Failure } from './failure.ts';
import { type ChildObject, idOf, type Observed } from './observed.ts';

/** What is learned of the answers to writes, and what is told of it. */

/** Nothing was written: a dry run has shown that the cluster changes it as before. */
export function isProbeAlone(action: Action, written: KubeObject | undefined): boolean {
  const isProbed = action.kind === 'create' || action.kind === 'apply' || action.kind === 'scale';
  return isProbed && action.probe !== undefined && written === undefined;
}

/** Remembers how the cluster has changed what was written just now. */
export function learnAnswers(
  answers: ClusterAnswers,
  given: readonly (readonly [Action, KubeObject | undefined])[],
  ticks: number,
): void {
  for (const [action, written] of given) {
    if (action.kind !== 'apply' && action.kind !== 'scale' && action.kind !== 'create') continue;
    if (action.kind === 'create' && action.once) continue;
    const id = idOf(action.object);
    const key = action.kind === 'scale' ? replicasKey(id) : id;
    if (isProbeAlone(action, written)) answers.noteSame(key, ticks);
    if (written === undefined) continue;
    const change =
      action.kind === 'scale'
        ? replicasChange(action.replicas, replicasOf(written))
        : clusterChange(action.object, differencesOf(action.object, written as ChildObject));
    answers.note(key, change, ticks);
  }
}

/**
 * Forgets what the cluster does not show any more: somebody else has put it right, or the object is gone. An object
 * without its labels and owner is missing from view, although it is there: then the answer is kept.
 */
export function forgetAnswers(
  answers: ClusterAnswers,
  comparisons: readonly Comparison[],
  given: readonly (readonly [Action, KubeObject | undefined])[],
): void {
  const fresh = new Set(
    given.flatMap(([action]) => ('object' in action ? [idOf(action.object as KubeObject)] : [])),
  );
  const holding = comparisons.flatMap((comparison) => {
    const { id, live, differences, replicasChange: known } = comparison;
    if (fresh.has(id)) return [id, replicasKey(id)];
    if (live === undefined) return [];
    const isOther = known !== undefined && hasOtherNumber(comparison);
    return [...(differences.length > 0 ? [id] : []), ...(isOther ? [replicasKey(id)] : [])];
  });
  const held = new Set(holding);
  const missing = new Set(comparisons.flatMap(({ id, live }) => (live === undefined ? [id] : [])));
  answers.keep((key, { hides }) => held.has(key) || (hides === true && missing.has(key)));
}

function hasOtherNumber({ desired: { replicas }, live }: Comparison): boolean {
  if (replicas === undefined || live === undefined) return false;
  const now = replicasOf(live);
  return replicas.kind === 'fixed' ? now !== replicas.count : now === 0;
}

/** Of which object an answer is, for people: `Deployment shop-api`. */
const named = (key: string) => key.replace(/ replicas$/, '').replace('/', ' ');

const SHOWN = 3;

function sentences({ answers }: Observed, isSafe: boolean): string {
  const changes = [...(answers ?? [])].filter(([, answer]) => answer.isSafe === isSafe);
  const shown = changes.slice(0, SHOWN).map(([key, { fields }]) => `${named(key)}: ${fields}`);
  const more = changes.length > SHOWN ? [`${changes.length - SHOWN} more objects`] : [];
  return [...shown, ...more].join('; ');
}

/** That the cluster changes what Berth writes, so that what runs may be something else; empty: it does not. */
export function changeFailures(observed: Observed): Failure[] {
  const changed = sentences(observed, false);
  if (changed === '') return [];
  const message = `the cluster changes what Berth writes, by an admission policy or webhook: ${changed}`;
  return [{ actionId: '', reason: 'FieldsChangedByCluster', final: false, message }];
}

/** What the cluster changes without harm, for people; empty: nothing. */
export function safeChanges(observed: Observed): string {
  return sentences(observed, true);
}

/** The safe changes as the status records them. */
export function acceptedChanges({ answers }: Observed): { object: string; hash: string; fields: string }[] {
  return [...(answers ?? [])]
    .filter(([, { isSafe }]) => isSafe)
    .map(([object, { hash, fields }]) => ({ object, hash, fields }))
    .sort((a, b) => (a.object < b.object ? -1 : 1));
}
