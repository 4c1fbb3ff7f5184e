import { hash } from 'node:crypto';

/** JSON with sorted keys: equal content gives equal text, whatever the order of keys. `undefined` members vanish. */
export function canonicalJson(value: unknown): string {
  // A replacer would be called for each member, at twice the cost: a look hashes all that a deployment wants.
  return JSON.stringify(sorted(value));
}

/** The value itself where its keys are in order, else a copy: most parts of what is hashed are in order, and a copy costs. */
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
    // An assignment to this one would set the prototype.
    if (key === '__proto__') Object.defineProperty(copy, key, { value: inside[at], enumerable: true });
    else copy[key] = inside[at];
  }
  return copy;
}

function sortedItems(items: readonly unknown[]): readonly unknown[] {
  const inside = items.map(sorted);
  return inside.every((item, at) => item === items[at]) ? items : inside;
}

/** Content hash (64 hex digits) of any JSON value; independent of key order. Nobody finds two values that have the same. */
export function fullHash(value: unknown): string {
  return sha256(canonicalJson(value));
}

/** Hash (32 hex digits) for names that permit something: 128 bits, so that finding a value with a given name is infeasible. */
export function nameHash(value: unknown): string {
  return fullHash(value).slice(0, 32);
}

/**
 * Short content hash (16 hex digits). For telling changes: who can choose both values can make them have the same, so
 * nothing is permitted by it.
 */
export function contentHash(value: unknown): string {
  return textHash(canonicalJson(value));
}

/** The same of the canonical JSON of a value. */
export function textHash(canonical: string): string {
  return sha256(canonical).slice(0, 16);
}

function sha256(text: string): string {
  return hash('sha256', text, 'hex');
}
