import type { KubeObject } from '../../../workloads/desired-object.ts';
import type { PathStep } from '../../kube/compare/additions.ts';
import type { Removal } from './added-fields.ts';

type Fields = Readonly<Record<string, unknown>>;

/** Pairs of fields that must be removed together. Otherwise the API server restores the first or rejects the patch. */
const TOGETHER: Readonly<Record<string, string>> = {
  serviceAccountName: 'serviceAccount',
  externalIPs: 'externalTrafficPolicy',
};

/** A strategic merge patch that removes the fields. */
export function removalPatch(removals: readonly Removal[]): Record<string, unknown> {
  const patch: Record<string, unknown> = {};
  for (const steps of removals) remove(patch, steps);
  return patch;
}

function remove(patch: Record<string, unknown>, steps: readonly PathStep[]): void {
  const [step, next, ...rest] = steps;
  if (typeof step !== 'string') return;
  if (next === undefined) {
    patch[step] = null;
    const other = TOGETHER[step];
    if (other !== undefined) patch[other] = null;
  } else if (typeof next === 'string') {
    patch[step] ??= {};
    remove(patch[step] as Record<string, unknown>, [next, ...rest]);
  } else {
    patch[step] ??= [];
    const entry = entryIn(patch[step] as Record<string, unknown>[], next);
    if (rest.length === 0) entry['$patch'] = 'delete';
    else remove(entry, rest);
  }
}

function entryIn(list: Record<string, unknown>[], keys: Fields): Record<string, unknown> {
  const known = list.find((entry) => Object.entries(keys).every(([key, value]) => entry[key] === value));
  if (known !== undefined) return known;
  const entry = { ...keys };
  list.push(entry);
  return entry;
}

/** Restricts a patch to the object with this uid. */
export function withUid(patch: Record<string, unknown>, uid: string): object {
  return { ...patch, metadata: { ...(patch['metadata'] as object | undefined), uid } };
}

/** The combined result of removal and apply as a strategic merge patch, for a dry run. */
export function withRemovals(body: KubeObject, uid: string, added: readonly Removal[]): object {
  const { metadata, spec } = body;
  const { labels, annotations, ownerReferences } = metadata;
  const patch = copyOf({ metadata: { labels, annotations, ownerReferences }, spec });
  mergePatch(patch, removalPatch(added));
  return withUid(patch, uid);
}

/** A copy without undefined fields. */
const copyOf = (value: object) => JSON.parse(JSON.stringify(value)) as Record<string, unknown>;

/** Merges a strategic merge patch into another patch. List entries match by the keys that the second patch names. */
function mergePatch(target: Record<string, unknown>, source: Record<string, unknown>): void {
  for (const [field, value] of Object.entries(source)) {
    const present = target[field];
    if (Array.isArray(value) && Array.isArray(present)) {
      for (const entry of value as Record<string, unknown>[]) mergeEntry(present, entry);
    } else if (isPlain(value) && isPlain(present)) mergePatch(present, value);
    else target[field] = value;
  }
}

/** In a removal entry, scalars are keys. The other fields contain what is removed below the entry. */
function mergeEntry(list: Record<string, unknown>[], entry: Record<string, unknown>): void {
  const keys = Object.entries(entry).filter(
    ([key, value]) => value !== null && typeof value !== 'object' && key !== '$patch',
  );
  const known = list.find((candidate) => keys.every(([key, value]) => candidate[key] === value));
  if (known === undefined) list.push(entry);
  else mergePatch(known, entry);
}

function isPlain(value: unknown): value is Record<string, unknown> {
  return value !== null && typeof value === 'object' && !Array.isArray(value);
}
