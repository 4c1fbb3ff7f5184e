import type { Search } from '../app/search.ts';

/** Which access tokens are listed, as in the URL. */
export interface TokenFilters {
  /** Those of all people and pipelines of the tenant, for its admins. */
  readonly all?: 'true';
  /** Those that were revoked or have expired, too. */
  readonly ended?: 'true';
}

export function tokenFiltersOf(search: Search | TokenFilters): TokenFilters {
  const given: Search = { ...search };
  return {
    ...(given['all'] === 'true' ? { all: 'true' as const } : {}),
    ...(given['ended'] === 'true' ? { ended: 'true' as const } : {}),
  };
}

/** The options of `berth tokens list` for these filters. */
export const tokenOptions = ({ all, ended }: TokenFilters): string[] => [
  ...(all === undefined ? [] : ['--all']),
  ...(ended === undefined ? [] : ['--ended']),
];
