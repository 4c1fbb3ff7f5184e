import type { Query, QueryClient } from '@tanstack/react-query';

/** Calls back after the present request of a query, also if it fails. Its answer may be older than a change. */
export const afterPresent = (query: Query, callback: () => void): void => {
  query.fetch().then(callback, callback);
};

/** Queries that are requested once more after the present request. */
const waiting = new WeakSet<Query>();

/** Requests again after the present request. A request that each change cancelled would never end while much changes. */
function againAfterPresent(query: Query, again: () => void): void {
  if (waiting.has(query)) return;
  waiting.add(query);
  afterPresent(query, () => {
    waiting.delete(query);
    again();
  });
}

/** Requests again what is shown, and marks the rest of the queries, so that they are requested when they are shown. */
export function requestAgain(client: QueryClient, isMeant: (key: readonly unknown[]) => boolean): void {
  const queries = client.getQueryCache().findAll({ predicate: ({ queryKey }) => isMeant(queryKey) });
  for (const query of queries) {
    const again = () => void client.invalidateQueries({ queryKey: query.queryKey, exact: true });
    if (query.state.fetchStatus === 'fetching') againAfterPresent(query, again);
    else again();
  }
}
