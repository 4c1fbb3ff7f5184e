import {
  hashKey,
  type InfiniteData,
  infiniteQueryOptions,
  type QueryClient,
  queryOptions,
} from '@tanstack/react-query';
import { read, type TenantApi } from '../api/client.ts';
import { fleetKey, tenantKey } from '../api/keys.ts';
import { listListeners } from '../api/lists.ts';
import { allOf } from '../api/pages.ts';
import { requestAgain } from '../live/request-again.ts';
import { refreshAfterPresent } from './changed-meanwhile.ts';
import { type Filters, queryOf } from './filters.ts';
import { NewestRequests } from './newest-requests.ts';
import { type FleetPage, nextOffset, PAGE_SIZE, withChanges } from './pages.ts';

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

/** The ids that a request can name. */
const MAX_IDS = 100;

/** The ids that both the filters and a change name. */
function idsToRequest({ deployment_ids: given }: Filters, changed: readonly string[]): readonly string[] {
  if (given === undefined) return changed;
  const wanted = new Set(given.split(','));
  return changed.filter((id) => wanted.has(id));
}

const newestRequests = new NewestRequests();

/** Requests the rows of changed deployments, and puts them into the loaded pages. */
export async function refreshRows(
  client: QueryClient,
  api: TenantApi,
  { filters, changed }: { readonly filters: Filters; readonly changed: readonly string[] },
): Promise<void> {
  const { queryKey } = fleetQuery(api, filters);
  const ids = idsToRequest(filters, changed);
  if (ids.length === 0) return;
  const list = hashKey(queryKey);
  const shown = client.getQueryCache().find({ queryKey });
  if (shown?.state.fetchStatus === 'fetching') {
    return refreshAfterPresent(shown, ids, (all) => void refreshRows(client, api, { filters, changed: all }));
  }
  // Single rows would hide that the request of the whole list has failed.
  const requestAll = () => requestAgain(client, (key) => hashKey(key) === list);
  if (ids.length > MAX_IDS || shown?.state.status === 'error') return requestAll();
  const ownRows = newestRequests.begin(list, ids);
  const query = { ...queryOf(filters), deployment_ids: ids.join(','), limit: MAX_IDS };
  try {
    const { resources } = await read(api.GET('/v2/deployments', { params: { query } }));
    const own = ownRows();
    const rows = resources.filter(({ id }) => own.has(id));
    client.setQueryData<InfiniteData<FleetPage, number>>(
      queryKey,
      (data) => data && { ...data, pages: withChanges(data.pages, [...own], rows) },
    );
  } catch {
    // The request of the whole list shows the error, and marks the rows as not current.
    requestAll();
  }
}

/** The listeners that the tenant can use. Their names are those of clusters. */
export const listenersQuery = (api: TenantApi) =>
  queryOptions({
    queryKey: tenantKey(api.tenantId, 'listeners'),
    queryFn: ({ signal }) => allOf(listListeners(api), signal),
  });
