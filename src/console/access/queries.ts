import { infiniteQueryOptions } from '@tanstack/react-query';
import { read, type TenantApi } from '../api/client.ts';
import { tenantKey } from '../api/keys.ts';
import type { TokenFilters } from './filters.ts';

const PAGE = 100;

/** Access tokens, newest first. */
export const tokensQuery = (api: TenantApi, { all, ended }: TokenFilters) =>
  infiniteQueryOptions({
    queryKey: tenantKey(api.tenantId, 'tokens', all ?? '', ended ?? ''),
    queryFn: async ({ pageParam, signal }) => {
      const query = { limit: PAGE, offset: pageParam, all: all === 'true', ended: ended === 'true' };
      const { resources, offset } = await read(api.GET('/v2/auth/tokens', { params: { query }, signal }));
      return { resources, next: resources.length < PAGE ? undefined : offset };
    },
    initialPageParam: 0,
    getNextPageParam: ({ next }) => next,
  });
