import { ApiProblem } from '../call-problem.ts';
import type { Answer, Client } from '../client.ts';

/** What the API says about a key. */

type ApiKey = Answer<'get', '/v2/api-keys'>['resources'][number];

/** Statuses of a key that the API knows, but that may not read this. */
const KNOWN: ReadonlySet<number | null> = new Set([400, 403]);

/**
 * Checks that the API accepts the key.
 * @returns whether the key can read deployments
 * @throws ApiProblem when the API cannot be reached or rejects the key
 */
export async function checkKey(client: Client): Promise<boolean> {
  try {
    await client.GET('/v2/usage', {});
    return true;
  } catch (error) {
    if (error instanceof ApiProblem && KNOWN.has(error.status)) return false;
    throw error;
  }
}

/** The entry of the key in the list of keys. null: the key may not read the list. */
export async function describeKey(client: Client, key: string): Promise<ApiKey | null> {
  for (const platform of [false, true]) {
    try {
      const params = { query: { limit: 100, platform } };
      const { resources } = await client.GET('/v2/api-keys', { params });
      const found = resources.find(({ prefix }) => key.startsWith(prefix));
      if (found !== undefined) return found;
    } catch (error) {
      if (!(error instanceof ApiProblem && KNOWN.has(error.status))) throw error;
    }
  }
  return null;
}
