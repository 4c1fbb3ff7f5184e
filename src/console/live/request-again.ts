import type { Query, QueryClient } from '@tanstack/react-query';

/** Queries that are requested once more after the present request, whose answer may be older than the change. */
const waiting = new WeakSet<Query>();

/** Requests again after the present request. A request that each change cancelled would never end while much changes. */
function afterPresent(query: Query, again: () => void): void {
  if (waiting.has(query)) return;
  waiting.add(query);
  // A request that fails may have failed for a reason that the change has removed.
  const ended = () => {
    waiting.delete(query);
    again();
  };
  query.fetch().then(ended, ended);
}

/** Requests again what is shown, and marks the rest of the queries, so that they are requested when they are shown. */
export function requestAgain(client: QueryClient, isMeant: (key: readonly unknown[]) => boolean): void {
  const queries = client.getQueryCache().findAll({ predicate: ({ queryKey }) => isMeant(queryKey) });
  for (const query of queries) {
    const again = () => void client.invalidateQueries({ queryKey: query.queryKey, exact: true });
    if (query.state.fetchStatus === 'fetching') afterPresent(query, again);
    else again();
  }
}
