import { type QueryClient, queryOptions } from '@tanstack/react-query';
import { platformApi, read } from '../api/client.ts';
import { Problem } from '../api/problem.ts';
import type { Session } from '../api/types.ts';

/** Who is signed in. */

/** null: there is no session. */
export const sessionQuery = queryOptions<Session | null>({
  queryKey: ['session'],
  queryFn: async ({ signal }) => {
    try {
      return await read(platformApi.GET('/v2/auth/session', { signal }));
    } catch (error) {
      if (error instanceof Problem && error.status === 401) return null;
      throw error;
    }
  },
  staleTime: 60_000,
});

export const methodsQuery = queryOptions({
  queryKey: ['sign-in-methods'],
  queryFn: ({ signal }) => read(platformApi.GET('/v2/auth/methods', { signal })),
  staleTime: Number.POSITIVE_INFINITY,
});

/** A request was rejected without a session. It may have been sent before a sign-in, so the API decides whether the session has ended. */
export function sessionEnded(client: QueryClient): void {
  void client.invalidateQueries({ queryKey: sessionQuery.queryKey });
}

/** Requests everything again that was rejected without a session. */
export async function sessionBegan(client: QueryClient): Promise<void> {
  await client.invalidateQueries();
}
