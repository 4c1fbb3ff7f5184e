import type { KubeObject, UntypedObject } from '../../../../src/cluster/kube/client/object.ts';
import { ANNOTATIONS } from '../../../../src/contract/resource/names.ts';
import { NAMESPACE, revised, template, World } from './fixtures.ts';

/** Secrets that other users create, and deployments that refer to them. */

const encoded = (data: Readonly<Record<string, string>>) =>
  Object.fromEntries(
    Object.entries(data).map(([key, value]) => [key, Buffer.from(value).toString('base64')]),
  );

export interface SecretOptions {
  readonly labels?: Readonly<Record<string, string>>;
  readonly type?: string;
}

export const secret = (
  name: string,
  data: Readonly<Record<string, string>>,
  { labels = {}, type = 'Opaque' }: SecretOptions = {},
) =>
  ({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name, namespace: NAMESPACE, labels },
    type,
    data: encoded(data),
  }) as unknown as KubeObject;

export const reference = (secretName: string, secretKey = 'api-key') => ({
  podTemplate: { secretReferences: [{ name: 'STRIPE_KEY', secretName, secretKey }] },
});
export const POLL_MS = 60_000;

export function change(world: World, name: string, data: Readonly<Record<string, string>>): void {
  world.cluster.edit(`Secret/${NAMESPACE}/${name}`, (object) => {
    object['data'] = encoded(data);
  });
}

/** The stored templates, in the order of their creation. */
export const storedNames = (world: World) =>
  world.cluster
    .list('ControllerRevision')
    .filter((object: UntypedObject) => (object['data'] as { templates?: object })?.templates !== undefined)
    .map(({ metadata }) => metadata.name);

interface Template {
  metadata: { annotations: Record<string, string> };
  spec: { containers: { env: { name: string; valueFrom?: object }[] }[] };
}
export const api = (world: World) => template(world, 'api') as Template;
export const marker = (world: World) => api(world).metadata.annotations[ANNOTATIONS.secretReferences];

export async function serving(value = 's3cret-value'): Promise<World> {
  const world = new World(revised('web:1', 1, reference('payments')));
  world.cluster.put(secret('payments', { 'api-key': value }));
  await world.converge();
  return world;
}
