import type { Query, QueryClient } from '@tanstack/react-query';

/** Whether the first request for the data is under way, whose answer may be older than the change. */
const isFirstRequest = ({ state }: Query) => state.data === undefined && state.fetchStatus === 'fetching';

/** Requests again what is shown, and marks the rest of the queries, so that they are requested when they are shown. */
export function requestAgain(client: QueryClient, isMeant: (key: readonly unknown[]) => boolean): void {
  const queries = client.getQueryCache().findAll({ predicate: ({ queryKey }) => isMeant(queryKey) });
  for (const query of queries) {
    const again = () => void client.invalidateQueries({ queryKey: query.queryKey, exact: true });
    if (isFirstRequest(query)) query.fetch().then(again, () => undefined);
    else again();
  }
}
