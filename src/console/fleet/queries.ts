import { infiniteQueryOptions, type QueryClient, queryOptions } from '@tanstack/react-query';
import { read, type TenantApi } from '../api/client.ts';
import { fleetKey, tenantKey } from '../api/keys.ts';
import { listListeners } from '../api/lists.ts';
import { allOf } from '../api/pages.ts';
import { type Filters, queryOf } from './filters.ts';
import { type FleetPage, nextOffset, PAGE_SIZE } from './pages.ts';
import { MAX_IDS, refresh } from './refresh-rows.ts';

/** Deployments that match filters, newest first. */
export const fleetQuery = (api: TenantApi, filters: Filters) =>
  infiniteQueryOptions({
    queryKey: fleetKey(api.tenantId, filters),
    queryFn: async ({ pageParam, signal }): Promise<FleetPage> => {
      const query = { ...queryOf(filters), limit: PAGE_SIZE, offset: pageParam };
      const { resources } = await read(api.GET('/v2/deployments', { params: { query }, signal }));
      return { rows: resources, isLast: resources.length < PAGE_SIZE };
    },
    initialPageParam: 0,
    getNextPageParam: (_last, pages) => nextOffset(pages),
  });

/** The ids that both the filters and a change name. */
function idsToRequest({ deployment_ids: given }: Filters, changed: readonly string[]): readonly string[] {
  if (given === undefined) return changed;
  const wanted = new Set(given.split(','));
  return changed.filter((id) => wanted.has(id));
}

/** Requests the rows of changed deployments, and puts them into the loaded pages of a list. */
export async function refreshRows(
  client: QueryClient,
  api: TenantApi,
  { filters, changed }: { readonly filters: Filters; readonly changed: readonly string[] },
): Promise<void> {
  const ids = idsToRequest(filters, changed);
  if (ids.length === 0) return;
  await refresh(client, fleetQuery(api, filters).queryKey, ids, async (named) => {
    const query = { ...queryOf(filters), deployment_ids: named.join(','), limit: MAX_IDS };
    return (await read(api.GET('/v2/deployments', { params: { query } }))).resources;
  });
}

/** The listeners that the tenant can use. Their names are those of clusters. */
export const listenersQuery = (api: TenantApi) =>
  queryOptions({
    queryKey: tenantKey(api.tenantId, 'listeners'),
    queryFn: ({ signal }) => allOf(listListeners(api), signal),
  });
