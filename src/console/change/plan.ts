import type { DeploymentPlan } from '../api/types.ts';
import { isObject, type Json, type JsonObject, sameJson } from '../form/json.ts';

/** What a dry run says. */

/** The parts of a dry run that a page shows. */
export type Plan = Pick<
  DeploymentPlan,
  'changes' | 'new_revision' | 'builds' | 'runs_release' | 'pods_roll' | 'rolls' | 'effects' | 'manifests'
>;

/** Without a difference, a request has no effect. */
export const isEmpty = ({ changes = [] }: Plan): boolean => changes.length === 0;

const listText = (words: readonly string[]) =>
  words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} and ${words.at(-1)}`;

/** The effects of a change as sentences, the most important first. */
export function effectsOf(plan: Plan): readonly string[] {
  const { pods_roll: rolls, rolls: parts = [], new_revision: isRevision, builds, effects = [] } = plan;
  const { runs_release: runsRelease = false } = plan;
  return [
    rolls ? `Pods are replaced: ${listText(parts)}.` : 'No pods are replaced.',
    ...(isRevision ? ['A new revision is created.'] : []),
    ...(builds ? ['The image is built first.'] : []),
    ...(runsRelease ? ['The release command runs before the rollout.'] : []),
    ...effects,
  ];
}

export interface PlannedObject {
  readonly kind: string;
  readonly name: string;
  /** null: the objects before the change are not known. */
  readonly change: 'new' | 'changed' | 'removed' | 'unchanged' | null;
  readonly manifest: JsonObject;
}

const nameOf = ({ metadata }: JsonObject) => (isObject(metadata) ? String(metadata['name'] ?? '') : '');
const keyOf = (manifest: JsonObject) => `${manifest['apiVersion']} ${manifest['kind']} ${nameOf(manifest)}`;

const ORDER = ['new', 'changed', 'removed', 'unchanged', null] as const;

/**
 * The objects of a change.
 * @param before the objects without the change; null: not known
 */
export function objectsOf(after: Plan['manifests'], before: Plan['manifests']): readonly PlannedObject[] {
  const [next, old] = [manifestsOf(after), before === null ? null : manifestsOf(before)];
  const planned = (manifest: JsonObject, change: PlannedObject['change']): PlannedObject => ({
    kind: String(manifest['kind']),
    name: nameOf(manifest),
    change,
    manifest,
  });
  const kept = [...next].map(([key, manifest]) => {
    if (old === null) return planned(manifest, null);
    const former = old.get(key);
    if (former === undefined) return planned(manifest, 'new');
    return planned(manifest, sameJson(former, manifest) ? 'unchanged' : 'changed');
  });
  const gone = [...(old ?? [])].filter(([key]) => !next.has(key));
  return [...kept, ...gone.map(([, manifest]) => planned(manifest, 'removed'))].toSorted(
    (one, other) => ORDER.indexOf(one.change) - ORDER.indexOf(other.change),
  );
}

const manifestsOf = (manifests: Plan['manifests']): ReadonlyMap<string, JsonObject> =>
  new Map(
    (manifests ?? []).map((each) => [keyOf(each as unknown as JsonObject), each as unknown as JsonObject]),
  );

/** A value of a changed field as text. */
export function changeText(value: unknown): string {
  if (value === null || value === undefined) return 'not set';
  return typeof value === 'string' ? value : JSON.stringify(value as Json);
}
