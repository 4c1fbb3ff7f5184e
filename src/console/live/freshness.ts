/** Whether data that is shown may be out of date. */

/** Age in milliseconds from which data that could not be requested again counts as the last known state. */
export const FRESH_MS = 60_000;

export interface Freshness {
  readonly isStale: boolean;
  /** Time of the last successful request, in milliseconds. */
  readonly at: number;
}

/**
 * Data is stale if the last request for it failed, or if it is older than a minute and changes do not arrive.
 * @param isLive whether changes arrive
 */
export function freshnessOf(
  query: { readonly dataUpdatedAt: number; readonly isRefetchError: boolean },
  { isLive, now }: { readonly isLive: boolean; readonly now: number },
): Freshness {
  const isOld = !isLive && now - query.dataUpdatedAt > FRESH_MS;
  return { isStale: query.isRefetchError || isOld, at: query.dataUpdatedAt };
}
