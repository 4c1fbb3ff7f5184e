import { queryOptions } from '@tanstack/react-query';
import { read, type TenantApi } from './client.ts';
import { tenantKey } from './keys.ts';

/** What clients may configure in this installation. */
export const policyQuery = (api: TenantApi) =>
  queryOptions({
    queryKey: tenantKey(api.tenantId, 'platform', 'policy'),
    queryFn: ({ signal }) => read(api.GET('/v2/policy', { signal })),
  });
