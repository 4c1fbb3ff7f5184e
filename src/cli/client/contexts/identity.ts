import { ApiProblem } from '../call-problem.ts';
import type { Answer, Client } from '../client.ts';
import { allOf } from '../paging.ts';

/** What the API says about a key. */

type ApiKey = Answer<'get', '/v2/api-keys'>['resources'][number];

/**
 * Whether the API knows a key, but rejects this request: 403 for a key without the scope, and 422 for a key of the
 * platform that names no tenant.
 */
function isKnown(error: unknown, tenantId: string | null): boolean {
  if (!(error instanceof ApiProblem)) return false;
  return error.status === 403 || (error.status === 422 && tenantId === null);
}

/**
 * Checks that the API accepts the key.
 * @returns whether the key can read deployments
 * @throws ApiProblem when the API cannot be reached, or rejects the key or the tenant
 */
export async function checkKey(client: Client, tenantId: string | null): Promise<boolean> {
  try {
    await client.GET('/v2/usage', {});
    return true;
  } catch (error) {
    if (isKnown(error, tenantId)) return false;
    throw error;
  }
}

/** The keys of the tenant, or of the platform. null: the key may not read the list. */
async function keysOf(client: Client, platform: boolean, tenantId: string | null): Promise<ApiKey[] | null> {
  try {
    return await allOf<ApiKey>((page) =>
      client.GET('/v2/api-keys', { params: { query: { ...page, platform } } }),
    );
  } catch (error) {
    if (isKnown(error, tenantId)) return null;
    throw error;
  }
}

/**
 * The entry of the key in the lists of keys.
 * @returns `forbidden`: the key may not read a list; `missing`: the lists do not contain the key
 */
export async function describeKey(
  client: Client,
  key: string,
  tenantId: string | null,
): Promise<ApiKey | 'forbidden' | 'missing'> {
  let couldRead = false;
  for (const platform of [false, true]) {
    const keys = await keysOf(client, platform, tenantId);
    couldRead ||= keys !== null;
    const found = keys?.find(({ prefix }) => key.startsWith(prefix));
    if (found !== undefined) return found;
  }
  return couldRead ? 'missing' : 'forbidden';
}
