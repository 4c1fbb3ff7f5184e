/** Deployments without database and cache: through HTTP, PostgreSQL, listener and operator, on a real API server. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { KubeClient } from '../../../../src/cluster/kube/client/client.ts';
import type { UntypedObject } from '../../../../src/cluster/kube/client/object.ts';
import { RESOURCES } from '../../../../src/cluster/kube/client/resources.ts';
import { LABELS } from '../../../../src/contract/resource/names.ts';
import { waitFor } from '../../../cluster/wait.ts';
import {
  type DeploymentAnswer,
  smallDeployment,
  startWholeBerth,
  type WholeBerth,
} from '../../harness/berth.ts';
import { adminClient } from '../../harness/rollouts.ts';

let berth: WholeBerth;
let client: KubeClient;
beforeAll(async () => {
  [berth, client] = await Promise.all([startWholeBerth('disabled'), adminClient()]);
});
afterAll(async () => {
  await client?.close();
  await berth?.stop();
});

type Kind = (typeof RESOURCES)[keyof typeof RESOURCES];
const OFF = { database: { enabled: false }, cache: { enabled: false } };
const WAIT = { timeoutMs: 90_000, intervalMs: 200 };

const appOf = ({ id, name }: DeploymentAnswer) => `${name}-${id.replaceAll('-', '').slice(-8)}`;
const find = (kind: Kind, name: string) =>
  client.find<UntypedObject>(kind, { namespace: berth.namespace, name }, {});
const claimUid = async (app: string) =>
  (await find(RESOURCES.PersistentVolumeClaim, `${app}-db`))?.metadata.uid;
const password = async (app: string) => (await find(RESOURCES.Secret, `${app}-db`))?.['data'];
const change = async (id: string, source_config: object) => {
  const answer = await berth.call('PATCH', `/v2/deployments/${id}`, { source_config });
  expect(answer, JSON.stringify(answer.body)).toMatchObject({ status: 200 });
};
const condition = (id: string, type: string, wanted: string) =>
  berth.until(id, `${type} ${wanted}`, ({ conditions }) =>
    conditions.some((each) => each.type === type && `${each.status} ${each.reason}` === wanted),
  );

/** The hub removes the confirmation from the record when the claim is gone. */
const removalEnded = (id: string) =>
  berth.until(id, 'no confirmation', ({ source_config: { database } }) => {
    const { enabled, remove_volume: removes } = (database ?? {}) as Record<string, boolean>;
    return enabled === false && removes === undefined;
  });

async function podsOf(app: string): Promise<UntypedObject[]> {
  const labelSelector = `${LABELS.instance}=${app}`;
  const { items } = await client.listAll<UntypedObject>(RESOURCES.Pod, {
    namespace: berth.namespace,
    labelSelector,
  });
  return items.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
}

async function made(name: string, config: object = {}) {
  const body = smallDeployment(name) as { source_config: object };
  const created = await berth.create({ ...body, source_config: { ...body.source_config, ...config } });
  return { ...(await berth.ready(created.id)), app: appOf(created) };
}

interface Explanation {
  serves: string;
  causes: { condition: string | null; reason: string; message: string }[];
  remedy: object | null;
}
async function explain({ id, latest_revision_id: revision }: DeploymentAnswer): Promise<Explanation> {
  const answer = await berth.call('GET', `/v2/deployments/${id}/revisions/${revision}/explain`);
  return answer.body as unknown as Explanation;
}

test.concurrent('a static site is READY with one pod, and explain names what is switched off', async () => {
  const site = await made('site', OFF);
  expect(site.status).toBe('READY');
  expect(await podsOf(site.app)).toHaveLength(1);
  for (const [kind, name] of [
    [RESOURCES.StatefulSet, `${site.app}-db`],
    [RESOURCES.PersistentVolumeClaim, `${site.app}-db`],
    [RESOURCES.Secret, `${site.app}-db`],
    [RESOURCES.Deployment, `${site.app}-cache`],
  ] as const)
    expect(await find(kind, name), name).toBeUndefined();
  const explained = await explain(site);
  expect(explained).toMatchObject({ serves: 'yes', remedy: null });
  expect(explained.causes.map(({ reason }) => reason).toSorted()).toEqual(
    expect.arrayContaining(['CacheDisabled', 'DatabaseDisabled']),
  );
});

test.concurrent('database and cache that are switched off keep volume and password, and return with them', async () => {
  const shop = await made('returns');
  const before = { uid: await claimUid(shop.app), secret: await password(shop.app) };
  await change(shop.id, OFF);
  await condition(shop.id, 'DatabaseReady', 'True DatabaseDisabled');
  const off = await berth.ready(shop.id);
  expect(off.latest_revision_id).toBe(shop.latest_revision_id);
  expect(await podsOf(shop.app)).toHaveLength(1);
  expect({ uid: await claimUid(shop.app), secret: await password(shop.app) }).toEqual(before);
  const { causes } = await explain(off);
  const kept = causes.find(({ reason }) => reason === 'DatabaseDisabled');
  expect(kept?.message).toMatch(/volume claim .*-db \(\d+Gi\) is kept until the deployment is deleted/);
  await change(shop.id, { database: null, cache: null });
  await condition(shop.id, 'DatabaseReady', 'True DatabaseAvailable');
  await berth.ready(shop.id);
  expect({ uid: await claimUid(shop.app), secret: await password(shop.app) }).toEqual(before);
});

test.concurrent('the volume is deleted when its owner confirms it, and a later database is empty', async () => {
  const shop = await made('removes');
  const before = { uid: await claimUid(shop.app), secret: await password(shop.app) };
  await change(shop.id, { database: { enabled: false, remove_volume: true } });
  await waitFor('no volume', async () => ((await claimUid(shop.app)) === undefined ? true : undefined), WAIT);
  await removalEnded(shop.id);
  const off = await berth.ready(shop.id);
  await berth.until(shop.id, 'no kept volume', ({ conditions }) =>
    conditions.some(({ message }) => message === 'database.enabled is false: Berth runs no database'),
  );
  expect(off.status).toBe('READY');
  await change(shop.id, { database: { enabled: true } });
  await condition(shop.id, 'DatabaseReady', 'True DatabaseAvailable');
  await berth.ready(shop.id);
  const after = await claimUid(shop.app);
  expect(after).toBeDefined();
  expect(after).not.toBe(before.uid);
  expect(await password(shop.app)).toEqual(before.secret);
});

test.concurrent('a volume that is restored after its removal stays', async () => {
  const shop = await made('restores');
  const former = await find(RESOURCES.PersistentVolumeClaim, `${shop.app}-db`);
  await change(shop.id, { database: { enabled: false, remove_volume: true } });
  await waitFor('no volume', async () => ((await claimUid(shop.app)) === undefined ? true : undefined), WAIT);
  const { name, namespace = '', labels = {} } = former?.metadata ?? { name: '' };
  const { accessModes, resources } = (former?.['spec'] ?? {}) as Record<string, unknown>;
  const restored = await client.create(
    {
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: { name, namespace, labels },
      spec: { accessModes, resources },
    } as UntypedObject,
    { fieldManager: 'test' },
  );
  await removalEnded(shop.id);
  await berth.until(shop.id, 'the claim that is not confirmed', ({ conditions }) =>
    conditions.some(({ message }) =>
      message.includes('is kept until the deployment is deleted or its owner'),
    ),
  );
  // A later change does not confirm its removal either.
  await change(shop.id, { cache: { enabled: false } });
  await condition(shop.id, 'CacheReady', 'True CacheDisabled');
  await berth.ready(shop.id);
  expect(await claimUid(shop.app)).toBe(restored.metadata.uid);
});

test.concurrent('an edit of the custom resource does not delete a volume', async () => {
  const shop = await made('edited');
  await change(shop.id, { database: { enabled: false } });
  await condition(shop.id, 'DatabaseReady', 'True DatabaseDisabled');
  await berth.ready(shop.id);
  const uid = await claimUid(shop.app);
  await client.patch(
    RESOURCES.ManagedDeployment,
    { namespace: berth.namespace, name: shop.app },
    { spec: { database: { removeVolume: true } } } as never,
    { fieldManager: 'test' },
  );
  // The listener reverts the edit.
  await waitFor(
    'the spec of the hub',
    async () => {
      const live = await find(RESOURCES.ManagedDeployment, shop.app);
      const { database } = (live?.['spec'] ?? {}) as { database?: { removeVolume?: boolean } };
      return database !== undefined && database.removeVolume === undefined ? true : undefined;
    },
    WAIT,
  );
  await berth.ready(shop.id);
  expect(await claimUid(shop.app)).toBe(uid);
});
