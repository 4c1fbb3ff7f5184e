import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query';
import { read, type TenantApi } from '../api/client.ts';
import { tenantKey } from '../api/keys.ts';

/** What the pages of the platform request. */

const PAGE = 100;
/** Leases change without a line in the stream of changes. */
const LEASE_POLL_MS = 5_000;

/** Options of a list with offsets. @param name part of the key */
function listOptions<T>(
  api: TenantApi,
  name: string,
  request: (
    query: { limit: number; offset: number },
    signal: AbortSignal,
  ) => Promise<{ readonly resources: readonly T[]; readonly offset: number }>,
) {
  return infiniteQueryOptions({
    queryKey: tenantKey(api.tenantId, 'platform', name),
    queryFn: async ({ pageParam, signal }) => {
      const { resources, offset } = await request({ limit: PAGE, offset: pageParam }, signal);
      return { resources, next: resources.length < PAGE ? undefined : offset };
    },
    initialPageParam: 0,
    getNextPageParam: ({ next }) => next,
  });
}

export const listenerPagesQuery = (api: TenantApi) => ({
  ...listOptions(api, 'listeners', (query, signal) =>
    read(api.GET('/v2/listeners', { params: { query }, signal })),
  ),
  refetchInterval: LEASE_POLL_MS,
});

/** Deployments whose latest change no cluster has reported yet: at most one page. */
export const waitingQuery = (api: TenantApi) =>
  queryOptions({
    queryKey: tenantKey(api.tenantId, 'platform', 'waiting'),
    queryFn: async ({ signal }) => {
      const query = { remote_reconciled: false, limit: PAGE };
      const { resources } = await read(api.GET('/v2/deployments', { params: { query }, signal }));
      return { deployments: resources, isComplete: resources.length < PAGE };
    },
    refetchInterval: LEASE_POLL_MS,
  });

export const integrationPagesQuery = (api: TenantApi) =>
  listOptions(api, 'integrations', (query, signal) =>
    read(api.GET('/v2/integrations', { params: { query }, signal })),
  );

/** @param platform the keys that belong to no tenant */
export const keysQuery = (api: TenantApi, platform: boolean) =>
  listOptions(api, platform ? 'platform-keys' : 'keys', (query, signal) =>
    read(api.GET('/v2/api-keys', { params: { query: { ...query, platform } }, signal })),
  );

export const tenantPagesQuery = (api: TenantApi) =>
  listOptions(api, 'tenants', (query, signal) => read(api.GET('/v2/tenants', { params: { query }, signal })));
