import { infiniteQueryOptions } from '@tanstack/react-query';
import { read, type TenantApi } from '../api/client.ts';
import { tenantKey } from '../api/keys.ts';
import type { HistoryFilters } from './filters.ts';

const EVENTS = 50;

/** The events of a tenant that match, newest first. */
export const historyQuery = (api: TenantApi, filters: HistoryFilters) =>
  infiniteQueryOptions({
    queryKey: tenantKey(api.tenantId, 'history', filters),
    queryFn: async ({ pageParam, signal }) => {
      const query = { ...filters, limit: EVENTS, ...(pageParam === '' ? {} : { cursor: pageParam }) };
      const { resources, cursor } = await read(api.GET('/v2/events', { params: { query }, signal }));
      return { events: resources, next: resources.length < EVENTS ? null : cursor };
    },
    initialPageParam: '',
    getNextPageParam: ({ next }) => next ?? undefined,
  });
