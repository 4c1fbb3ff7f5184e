import { hashKey, type InfiniteData, type QueryClient, type QueryKey } from '@tanstack/react-query';
import type { Deployment } from '../api/types.ts';
import { requestAgain } from '../live/request-again.ts';
import { NewestRequests } from './newest-requests.ts';
import { type FleetPage, withChanges } from './pages.ts';

/**
 * Requests the rows of changed deployments. A list that loads is never loaded again because of them: their rows are requested after it, so
 * that many rows and frequent changes cause no endless requests.
 */

/** The ids that a request can name. */
export const MAX_IDS = 100;

type Data = InfiniteData<FleetPage, number>;
/** The rows with these ids that match the filters. */
type RowRequest = (ids: readonly string[]) => Promise<readonly Deployment[]>;

const newestRequests = new NewestRequests();

/** Ids that changed while a list was loading, by list. */
const waiting = new WeakMap<QueryClient, Map<string, Set<string>>>();

function waitingOf(client: QueryClient): Map<string, Set<string>> {
  const known = waiting.get(client) ?? new Map<string, Set<string>>();
  waiting.set(client, known);
  return known;
}

/** The ids in groups that one request can name; null: the loaded pages need fewer requests. */
export function groupsOf(ids: readonly string[], pages: number): readonly (readonly string[])[] | null {
  const count = Math.ceil(ids.length / MAX_IDS);
  if (count > Math.max(1, pages)) return null;
  return Array.from({ length: count }, (_, index) => ids.slice(index * MAX_IDS, (index + 1) * MAX_IDS));
}

/** Refreshes the rows after the list has loaded, together with those that change until then. */
function afterLoad(client: QueryClient, queryKey: QueryKey, ids: readonly string[], request: RowRequest) {
  const list = hashKey(queryKey);
  const lists = waitingOf(client);
  const known = lists.get(list);
  if (known !== undefined) {
    for (const id of ids) known.add(id);
    return;
  }
  lists.set(list, new Set(ids));
  const ended = () => {
    const changed = [...(lists.get(list) ?? [])];
    lists.delete(list);
    void refresh(client, queryKey, changed, request);
  };
  // This is the request that runs. It does not start another one.
  client.getQueryCache().find({ queryKey, exact: true })?.fetch().then(ended, ended);
}

/** Requests rows, and puts them into the loaded pages. */
export async function refresh(
  client: QueryClient,
  queryKey: QueryKey,
  ids: readonly string[],
  request: RowRequest,
): Promise<void> {
  const list = hashKey(queryKey);
  const isLoading = () => client.getQueryState(queryKey)?.fetchStatus === 'fetching';
  const requestAll = () => requestAgain(client, (key) => hashKey(key) === list);
  if (isLoading()) return afterLoad(client, queryKey, ids, request);
  const groups = groupsOf(ids, client.getQueryData<Data>(queryKey)?.pages.length ?? 0);
  // Single rows would hide that the request of the whole list has failed.
  if (groups === null || client.getQueryState(queryKey)?.status === 'error') return requestAll();
  const ownRows = newestRequests.begin(list, ids);
  try {
    const found: Deployment[] = [];
    for (const group of groups) found.push(...(await request(group)));
    const own = ownRows();
    // The pages that load now were requested before or after these rows. They would replace them.
    if (isLoading()) return afterLoad(client, queryKey, [...own], request);
    const rows = found.filter(({ id }) => own.has(id));
    client.setQueryData<Data>(
      queryKey,
      (data) => data && { ...data, pages: withChanges(data.pages, [...own], rows) },
    );
  } catch {
    // The request of the whole list shows the error, and marks the rows as not current.
    requestAll();
  }
}
