import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { kubectl } from '../../test/cluster/kubectl.ts';
import { waitFor } from '../../test/cluster/wait.ts';
import type { DemoStack } from './stack.ts';

const folder = fileURLToPath(new URL('../../test/samples/', import.meta.url));

/** A deployment that the demo has created. */
export interface Created {
  id: string;
  name: string;
}

/** A POST body of test/samples. */
export interface Sample {
  file: string;
  body: {
    name: string;
    source: string;
    source_revision_config?: { image_uri?: string; [field: string]: unknown };
    [field: string]: unknown;
  };
}

/** The samples that the hosting mode allows. External images need self_hosted, and git_host needs cloud. */
export function readSamples(hosting: 'cloud' | 'self_hosted'): Sample[] {
  const unsupported = hosting === 'cloud' ? 'external_image' : 'git_host';
  return readdirSync(folder)
    .filter((file) => file.endsWith('.json'))
    .sort()
    .map((file) => ({ file, body: JSON.parse(readFileSync(join(folder, file), 'utf8')) as Sample['body'] }))
    .filter((sample) => sample.body.source !== unsupported);
}

/** Sends one API request with the API key of the demo and returns the response body. @throws Error for a status >= 400 */
export async function callApi<T>(stack: DemoStack, method: string, path: string, body?: unknown): Promise<T> {
  const response = await fetch(new URL(path, stack.url), {
    method,
    headers: {
      'x-api-key': stack.apiKey,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    body: body === undefined ? undefined : JSON.stringify(body),
    signal: AbortSignal.timeout(30_000),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`failed to ${method} ${path}: HTTP ${response.status}: ${text}`);
  return (text === '' ? undefined : JSON.parse(text)) as T;
}

const REMOVAL_TIMEOUT_MS = 60_000;

/**
 * Deletes every deployment of the demo's tenant, and those applied by hand in the namespace of the samples, which could not be
 * deleted without an operator. Waits until their objects are gone from the cluster.
 */
export async function removeDeployments(stack: DemoStack): Promise<void> {
  console.log("deleting the demo's deployments …");
  const list = async () =>
    (await callApi<{ resources: { id: string }[] }>(stack, 'GET', '/v2/deployments?limit=100')).resources;
  for (const { id } of await list()) await callApi(stack, 'DELETE', `/v2/deployments/${id}`);
  await waitFor('the deployments to be gone', async () => (await list()).length === 0, {
    timeoutMs: REMOVAL_TIMEOUT_MS,
    intervalMs: 200,
  });
  if (stack.namespace === null) return;
  const byHand = ['delete', 'mdep', '--all', '--namespace', stack.namespace, '--timeout=60s'];
  await kubectl(stack, byHand);
}

/**
 * Changes the image of a sample to the deployment's own repository, because a registry with push tokens has one for each
 * deployment. Pushes no image: simulated nodes do not pull images.
 */
async function moveToOwnRepository(stack: DemoStack, id: string, image: string): Promise<void> {
  const own = await callApi<{ image_uri: string }>(stack, 'POST', `/v2/deployments/${id}/push-token`);
  const tag = image.slice(image.lastIndexOf(':') + 1);
  const image_uri = `${own.image_uri}:${tag}`;
  await callApi(stack, 'PATCH', `/v2/deployments/${id}`, { source_revision_config: { image_uri } });
}

/** POSTs the samples. Returns the created deployments. */
export async function createSamples(stack: DemoStack, samples: readonly Sample[]): Promise<Created[]> {
  const made: Created[] = [];
  for (const { file, body } of samples) {
    const image = body.source_revision_config?.image_uri;
    const moves = stack.builds !== null && body.source === 'internal_image' && image !== undefined;
    const request = moves ? { ...body, source_revision_config: {} } : body;
    const created = await callApi<{ id: string }>(stack, 'POST', '/v2/deployments', request);
    if (moves) await moveToOwnRepository(stack, created.id, image);
    console.log(`  POST /v2/deployments  ${file}  201  ${created.id}`);
    made.push({ id: created.id, name: body.name });
  }
  return made;
}
