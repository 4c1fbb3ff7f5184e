import { queryOptions } from '@tanstack/react-query';
import { read, type TenantApi } from '../api/client.ts';
import { tenantKey } from '../api/keys.ts';
import { listIntegrations, listListeners, listTenants } from '../api/lists.ts';
import { pagesOptions } from '../api/pages.ts';

/** What the pages of the platform request. */

const WAITING = 100;
/** Leases change without a line in the stream of changes. */
const LEASE_POLL_MS = 5_000;

const keyOf = (api: TenantApi, name: string) => tenantKey(api.tenantId, 'platform', name);

export const listenerPagesQuery = (api: TenantApi) => ({
  ...pagesOptions(keyOf(api, 'listeners'), listListeners(api)),
  refetchInterval: LEASE_POLL_MS,
});

/** Deployments whose latest change no cluster has reported yet: at most one page. */
export const waitingQuery = (api: TenantApi) =>
  queryOptions({
    queryKey: keyOf(api, 'waiting'),
    queryFn: async ({ signal }) => {
      const query = { remote_reconciled: false, limit: WAITING };
      const { resources } = await read(api.GET('/v2/deployments', { params: { query }, signal }));
      return { deployments: resources, isComplete: resources.length < WAITING };
    },
    refetchInterval: LEASE_POLL_MS,
  });

export const integrationPagesQuery = (api: TenantApi) =>
  pagesOptions(keyOf(api, 'integrations'), listIntegrations(api));

/** @param platform the keys that belong to no tenant */
export const keysQuery = (api: TenantApi, platform: boolean) =>
  pagesOptions(keyOf(api, platform ? 'platform-keys' : 'keys'), (query, signal) =>
    read(api.GET('/v2/api-keys', { params: { query: { ...query, platform } }, signal })),
  );

export const tenantPagesQuery = (api: TenantApi) => pagesOptions(keyOf(api, 'tenants'), listTenants);
