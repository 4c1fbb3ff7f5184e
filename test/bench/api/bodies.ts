/** Requests that the benches of the API send. */
import { NAME } from '../load/load.ts';

/** A typical deployment, with sizes, an annotation and two secrets. */
export const DEPLOYMENT = {
  name: NAME,
  source: 'external_image',
  source_config: {
    deployment_type: 'prod',
    resource_spec: {
      min_scale: 0,
      max_scale: 3,
      cpu: 0.5,
      memory_mb: 512,
      annotations: { 'example.com/team': 'shop' },
    },
  },
  source_revision_config: { image_uri: 'registry.example/shop/web:1.4.2' },
  secrets: [
    { name: 'SHOP_TOKEN', value: 'a-token-of-thirty-two-characters' },
    { name: 'SHOP_PASSWORD', value: 'a-password' },
  ],
};

/** The body of a POST. `NAME` in it stands for the name. */
export const DEPLOYMENT_JSON = JSON.stringify(DEPLOYMENT);

export const PATH = '/v2/deployments';

/** Makes one call that is not measured. @throws Error unless the status is 2xx */
export async function call<T>(
  base: string,
  apiKey: string,
  method: string,
  path: string,
  body?: string,
): Promise<T> {
  const response = await fetch(`${base}${path}`, {
    method,
    headers: {
      'x-api-key': apiKey,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`failed to ${method} ${path}: ${response.status} ${text}`);
  return JSON.parse(text) as T;
}

/** Creates a deployment. */
export const create = (base: string, apiKey: string, name: string) =>
  call<{ id: string } & Record<string, unknown>>(
    base,
    apiKey,
    'POST',
    PATH,
    JSON.stringify({ ...DEPLOYMENT, name }),
  );
