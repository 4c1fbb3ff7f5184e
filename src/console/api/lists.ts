import { platformApi, read, type TenantApi } from './client.ts';

/** Requests of lists that several pages need. */

type Page = { readonly limit: number; readonly offset: number };

export const listListeners = (api: TenantApi) => (query: Page, signal: AbortSignal) =>
  read(api.GET('/v2/listeners', { params: { query }, signal }));

export const listIntegrations = (api: TenantApi) => (query: Page, signal: AbortSignal) =>
  read(api.GET('/v2/integrations', { params: { query }, signal }));

export const listTenants = (query: Page, signal: AbortSignal) =>
  read(platformApi.GET('/v2/tenants', { params: { query }, signal }));
