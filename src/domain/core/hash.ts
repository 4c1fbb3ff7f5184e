import { hash } from 'node:crypto';

/** JSON with sorted keys, so that equal content gives equal text. `undefined` members are omitted. */
export function canonicalJson(value: unknown): string {
  // A replacer would take twice the time, and each reconcile hashes all desired objects of a deployment.
  return JSON.stringify(sorted(value));
}

/** The value itself if its keys are sorted, otherwise a sorted copy. Most values are sorted, so most copies are avoided. */
function sorted(value: unknown): unknown {
  if (value === null || typeof value !== 'object') return value;
  if (Array.isArray(value)) return sortedItems(value);
  const { toJSON } = value as { toJSON?: unknown };
  if (typeof toJSON === 'function') return sorted(toJSON.call(value));
  const members = value as Readonly<Record<string, unknown>>;
  const keys = Object.keys(members);
  const isInOrder = keys.every((key, at) => at === 0 || (keys[at - 1] ?? '') < key);
  const inside = (isInOrder ? keys : keys.sort()).map((key) => sorted(members[key]));
  if (isInOrder && inside.every((member, at) => member === members[keys[at] ?? ''])) return value;
  const copy: Record<string, unknown> = {};
  for (const [at, key] of keys.entries()) {
    // An assignment to this key would set the prototype.
    if (key === '__proto__') Object.defineProperty(copy, key, { value: inside[at], enumerable: true });
    else copy[key] = inside[at];
  }
  return copy;
}

function sortedItems(items: readonly unknown[]): readonly unknown[] {
  const inside = items.map(sorted);
  return inside.every((item, at) => item === items[at]) ? items : inside;
}

/** Content hash (64 hex digits) of a JSON value, independent of key order. Collision-resistant. */
export function fullHash(value: unknown): string {
  return sha256(canonicalJson(value));
}

/** Hash (32 hex digits) for names that grant access: with 128 bits, finding a value for a given name is infeasible. */
export function nameHash(value: unknown): string {
  return fullHash(value).slice(0, 32);
}

/**
 * Short content hash (16 hex digits) for change detection. The hash is not collision-resistant, so it must not grant
 * access.
 */
export function contentHash(value: unknown): string {
  return textHash(canonicalJson(value));
}

/** The short content hash, from the canonical JSON of a value. */
export function textHash(canonical: string): string {
  return sha256(canonical).slice(0, 16);
}

function sha256(text: string): string {
  return hash('sha256', text, 'hex');
}
