import type { Query } from '@tanstack/react-query';
import { afterPresent } from '../live/request-again.ts';

/** The deployments that changed while the whole list was requested. */
const changedMeanwhile = new WeakMap<Query, Set<string>>();

/**
 * Requests the rows of changed deployments after the present request of the whole list. If each change requested the
 * whole list again, a list that takes longer than the time between changes would be requested without end.
 */
export function refreshAfterPresent(
  query: Query,
  ids: readonly string[],
  refresh: (ids: string[]) => void,
): void {
  const known = changedMeanwhile.get(query);
  if (known !== undefined) {
    for (const id of ids) known.add(id);
    return;
  }
  const changed = new Set(ids);
  changedMeanwhile.set(query, changed);
  afterPresent(query, () => {
    changedMeanwhile.delete(query);
    refresh([...changed]);
  });
}
