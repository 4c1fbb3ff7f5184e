import { read, type TenantApi } from '../api/client.ts';
import { tenantKey } from '../api/keys.ts';
import { pagesOptions } from '../api/pages.ts';
import type { TokenFilters } from './filters.ts';

/** Access tokens, newest first. */
export const tokensQuery = (api: TenantApi, { all, ended }: TokenFilters) =>
  pagesOptions(tenantKey(api.tenantId, 'tokens', all ?? '', ended ?? ''), (page, signal) => {
    const query = { ...page, all: all === 'true', ended: ended === 'true' };
    return read(api.GET('/v2/auth/tokens', { params: { query }, signal }));
  });
