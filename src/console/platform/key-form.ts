import type { ApiKey } from '../api/types.ts';
import type { Search } from '../app/search.ts';

/** API keys: the filter of the list, and the form of a new key. */

/** Whose keys are listed, as in the URL. Absent: those of the tenant. */
export interface KeyOwner {
  readonly owner?: 'platform';
}

export const ownerOf = (search: Search | KeyOwner): KeyOwner =>
  search.owner === 'platform' ? { owner: 'platform' } : {};

export type KeyScope = ApiKey['scopes'][number];
/** Every scope of the API. A missing one is a type error. */
const SCOPES: Readonly<Record<KeyScope, true>> = {
  'deployments:read': true,
  'deployments:write': true,
  'secrets:read': true,
  'tasks:run': true,
  'listeners:run': true,
  admin: true,
};
export const KEY_SCOPES = Object.keys(SCOPES) as readonly KeyScope[];

/** Lifetimes as `berth api-keys create --expires` takes them. Empty: no end. */
export const LIFETIMES = [
  ['1d', '1 day'],
  ['30d', '30 days'],
  ['90d', '90 days'],
  ['365d', '1 year'],
  ['', 'Never'],
] as const;

const DAY_MS = 24 * 3_600_000;

/** The time at which a key expires. null: never. @param lifetime one of LIFETIMES */
export function expiryOf(lifetime: string, now: number): string | null {
  const days = Number.parseInt(lifetime, 10);
  return Number.isNaN(days) ? null : new Date(now + days * DAY_MS).toISOString();
}
