import { createHash } from 'node:crypto';

/** JSON with sorted keys: equal content gives equal text, whatever the order of keys. `undefined` members vanish. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, member: unknown) =>
    member !== null && typeof member === 'object' && !Array.isArray(member)
      ? Object.fromEntries(Object.entries(member).sort(([a], [b]) => (a < b ? -1 : 1)))
      : member,
  );
}

/** Content hash (64 hex digits) of any JSON value; independent of key order. Nobody finds two values that have the same. */
export function fullHash(value: unknown): string {
  return createHash('sha256').update(canonicalJson(value)).digest('hex');
}

/**
 * Short content hash (16 hex digits). For telling changes: who can choose both values can make them have the same, so
 * nothing is permitted by it.
 */
export function contentHash(value: unknown): string {
  return fullHash(value).slice(0, 16);
}
