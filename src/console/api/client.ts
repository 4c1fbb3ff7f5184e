import createFetchClient, { type Client } from 'openapi-fetch';
import type { paths } from '../../cli/client/api.gen.ts';
import { apiUrl } from '../app/addresses.ts';
import { Problem, problemOf, unreachable } from './problem.ts';

/** Calls of the API, with the session of the browser. */

/** Without a tenant: sign-in, and what belongs to the platform. */
export const platformApi: Client<paths> = createFetchClient<paths>({ baseUrl: apiUrl });

/** The API for one tenant. All its requests name the tenant, as the URL of the page does. */
export interface TenantApi extends Pick<Client<paths>, 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'> {
  readonly tenantId: string;
}

const apis = new Map<string, TenantApi>();

export const tenantHeaders = (tenantId: string) => ({ 'X-Tenant-Id': tenantId });

export function tenantApi(tenantId: string): TenantApi {
  const known = apis.get(tenantId);
  if (known !== undefined) return known;
  const client = createFetchClient<paths>({ baseUrl: apiUrl, headers: tenantHeaders(tenantId) });
  const api = { ...client, tenantId };
  apis.set(tenantId, api);
  return api;
}

/**
 * The data of a call.
 * @throws Problem
 */
export async function read<T>(call: Promise<{ data?: T; error?: unknown; response: Response }>): Promise<T> {
  let answer: { data?: T; error?: unknown; response: Response };
  try {
    answer = await call;
  } catch (error) {
    if (error instanceof Problem || (error instanceof DOMException && error.name === 'AbortError'))
      throw error;
    throw unreachable();
  }
  if (!answer.response.ok) throw problemOf(answer.response, answer.error);
  return answer.data as T;
}
