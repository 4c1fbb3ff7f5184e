import type { KubeClient } from './client-types.ts';

/**
 * Whether the cluster serves a resource. Reads the list of API groups first, because a proxy in front of the API server may respond to a request for a group
 * that does not exist.
 */
export async function hasResource(
  client: Pick<KubeClient, 'request'>,
  apiVersion: string,
  plural: string,
  signal: AbortSignal,
): Promise<boolean> {
  const { groups = [] } = await ask<{ groups?: { versions: { groupVersion: string }[] }[] }>('/apis');
  const versions = groups.flatMap((group) => group.versions.map(({ groupVersion }) => groupVersion));
  if (!versions.includes(apiVersion)) return false;
  const { resources = [] } = await ask<{ resources?: { name: string }[] }>(`/apis/${apiVersion}`);
  return resources.some(({ name }) => name === plural);

  async function ask<T>(path: string): Promise<T> {
    const { body } = await client.request('GET', path, { signal });
    return body as T;
  }
}
