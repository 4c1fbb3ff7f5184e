import { MutationCache, QueryCache, QueryClient } from '@tanstack/react-query';
import { isTemporary, Problem } from '../api/problem.ts';
import { sessionEnded } from '../session/session-query.ts';

/** What was requested from the API. */

/** How often a request is repeated that failed for a reason that can pass. */
const RETRIES = 2;

/** A session that has ended asks for a new sign-in, whichever request noticed it. */
function noticeEnd(error: unknown): void {
  if (error instanceof Problem && error.status === 401) sessionEnded(queryClient);
}

export const queryClient: QueryClient = new QueryClient({
  queryCache: new QueryCache({ onError: noticeEnd }),
  mutationCache: new MutationCache({ onError: noticeEnd }),
  defaultOptions: {
    queries: {
      // A request without a network fails, so that its data is marked as not current.
      networkMode: 'always',
      // Changes arrive by the stream of changes (live/).
      staleTime: 30_000,
      retry: (failures, error) => failures < RETRIES && isTemporary(error),
    },
    // A finished mutation would keep what was typed, secrets included.
    mutations: { retry: false, networkMode: 'always', gcTime: 0 },
  },
});
