import { useInfiniteQuery, useQueryClient } from '@tanstack/react-query';
import { useCallback } from 'react';
import { useHints } from '../live/live-updates.tsx';
import type { Hint } from '../live/watch-items.ts';
import { useTenantApi } from '../shell/tenant-context.ts';
import type { Filters } from './filters.ts';
import { fleetQuery, refreshRows } from './queries.ts';

const idsOf = (hints: readonly Hint[]): string[] =>
  hints.flatMap((hint) =>
    hint.type === 'change' && hint.deployment_id !== null ? [hint.deployment_id] : [],
  );

/** The loaded deployments, which follow the stream of changes. */
export function useFleet(filters: Filters) {
  const api = useTenantApi();
  const client = useQueryClient();
  const changed = useCallback(
    (hints: readonly Hint[]) => void refreshRows(client, api, { filters, changed: idsOf(hints) }),
    [client, api, filters],
  );
  useHints(changed);
  return useInfiniteQuery(fleetQuery(api, filters));
}
