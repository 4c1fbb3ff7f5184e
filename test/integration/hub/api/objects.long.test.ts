/** Objects of a deployment in a namespace with 5,000 pods and 5,000 events of others, and of a deployment with many pods. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createKubeClient, type KubeClient } from '../../../../src/cluster/kube/client/client.ts';
import type { KubeObject } from '../../../../src/cluster/kube/client/object.ts';
import { RESOURCES } from '../../../../src/cluster/kube/client/resources.ts';
import { MAX_MAP_CHARACTERS } from '../../../../src/contract/protocol/object-protocol.ts';
import { LABELS, MANAGED_BY } from '../../../../src/contract/resource/names.ts';
import type { Deployment } from '../../harness/api.ts';
import { environment } from '../../harness/environment.ts';
import { type LogWorld, startLogWorld } from '../../harness/log-world.ts';

const MANY = 5_000;
const ANOTHER_DEPLOYMENT = { id: '01890000-0000-7000-8000-00000000beef' };
const AT_ONCE = 16;
/** More than fit into a list (4 MiB), with annotations of 12 KiB. */
const LARGE = 500;
const FEW = 3;

interface ObjectMap {
  resources: { kind: string; name: string }[];
  omitted: { kind: string; count: number; exact: boolean }[];
  unread: object[];
}

let world: LogWorld;
let client: KubeClient;
beforeAll(async () => {
  world = await startLogWorld('objects-many');
  client = await createKubeClient({
    kubeconfigPath: environment().kubeconfigPath,
    userAgent: 'test',
    requestTimeoutMs: 60_000,
  });
  await world.startListener();
}, 300_000);
afterAll(async () => {
  await client?.close();
  await world?.stop();
}, 300_000);

async function createAll(count: number, object: (index: number) => KubeObject): Promise<void> {
  let next = 0;
  const worker = async () => {
    while (next < count) {
      const index = next;
      next += 1;
      await client.create(object(index));
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
}

const labelsOf = ({ id }: Pick<Deployment, 'id'>) => ({
  [LABELS.managedBy]: MANAGED_BY,
  [LABELS.component]: 'api',
  [LABELS.deploymentId]: id,
});

/** A pod that no scheduler assigns to a node. */
const podOf =
  (of: Pick<Deployment, 'id'>, prefix: string, annotation = '') =>
  (index: number) => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      namespace: world.namespace,
      name: `${prefix}-${index}`,
      labels: labelsOf(of),
      annotations: { large: annotation },
    },
    spec: { schedulerName: 'none', containers: [{ name: 'app', image: 'test' }] },
  });

const serviceOf = (of: Deployment, name: string) => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { namespace: world.namespace, name, labels: labelsOf(of) },
  spec: { ports: [{ port: 8000 }] },
});

const eventOf = (name: string, uid: string) => (index: number) => ({
  apiVersion: 'v1',
  kind: 'Event',
  metadata: { namespace: world.namespace, name: `${name}.${index}` },
  involvedObject: { kind: 'Pod', namespace: world.namespace, name, uid },
  type: 'Warning',
  reason: 'Unhealthy',
  message: `event ${index} of ${name}`,
});

const path = (of: Deployment, more = '') => `/v2/deployments/${of.id}/objects${more}`;

test('is complete and bounded in a namespace with thousands of objects and events', {
  timeout: 900_000,
}, async () => {
  const [few, large] = [await world.deploy(), await world.deploy()];
  await createAll(MANY, podOf(ANOTHER_DEPLOYMENT, 'other'));
  await createAll(MANY, eventOf('other-0', 'uid-of-another'));
  await createAll(FEW, podOf(few, 'few'));
  await createAll(LARGE, podOf(large, 'large', 'x'.repeat(12 * 1024)));
  await client.create(serviceOf(few, 'few'));
  await client.create(serviceOf(large, 'large'));
  const { metadata } = await client.get(RESOURCES.Pod, { namespace: world.namespace, name: 'few-0' });
  await createAll(FEW, eventOf('few-0', metadata.uid ?? ''));

  const { status, body } = await world.owner.call<ObjectMap>('GET', path(few));
  expect(status).toBe(200);
  expect(body).toMatchObject({ omitted: [], unread: [] });
  const names = body.resources.filter(({ kind }) => kind === 'Pod').map(({ name }) => name);
  expect(names).toEqual(['few-0', 'few-1', 'few-2']);

  const one = await world.owner.call<{ events: { message: string }[]; unread: object[] }>(
    'GET',
    path(few, '/Pod/few-0'),
  );
  expect(one.body.unread).toEqual([]);
  expect(one.body.events.map(({ message }) => message).sort()).toEqual(
    [0, 1, 2].map((index) => `event ${index} of few-0`),
  );

  const { body: bounded } = await world.owner.call<ObjectMap>('GET', path(large));
  expect(JSON.stringify(bounded).length).toBeLessThan(MAX_MAP_CHARACTERS + 10_000);
  expect(bounded.resources.map(({ kind }) => kind)).toContain('Service');
  expect(bounded.omitted).toMatchObject([{ kind: 'Pod', exact: false }]);
});
