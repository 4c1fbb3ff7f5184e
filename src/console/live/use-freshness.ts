import { useNow } from '../ui/use-now.ts';
import { type Freshness, freshnessOf } from './freshness.ts';
import { useConnection } from './live-updates.tsx';

/** The freshness of what a query has returned. */
export function useFreshness(query: {
  readonly dataUpdatedAt: number;
  readonly isRefetchError: boolean;
}): Freshness {
  return freshnessOf(query, { isLive: useConnection() === 'live', now: useNow() });
}
