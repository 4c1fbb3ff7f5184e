/** Database and cache of a deployment: through HTTP, PostgreSQL, listener and operator, on a real API server. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { KubeClient } from '../../../../src/cluster/kube/client/client.ts';
import type { UntypedObject } from '../../../../src/cluster/kube/client/object.ts';
import { RESOURCES } from '../../../../src/cluster/kube/client/resources.ts';
import { ANNOTATIONS, LABELS } from '../../../../src/contract/resource/names.ts';
import { contentHash } from '../../../../src/domain/core/hash.ts';
import { waitFor } from '../../../cluster/wait.ts';
import {
  type DeploymentAnswer,
  smallDeployment,
  startWholeBerth,
  type WholeBerth,
} from '../../harness/berth.ts';
import { condition as conditionIn, operatorWorld, startOperator } from '../../harness/operator.ts';
import { adminClient } from '../../harness/rollouts.ts';

let berth: WholeBerth;
let client: KubeClient;
beforeAll(async () => {
  [berth, client] = await Promise.all([startWholeBerth('data'), adminClient()]);
});
afterAll(async () => {
  await client?.close();
  await berth?.stop();
});

type Kind = (typeof RESOURCES)[keyof typeof RESOURCES];
const WAIT = { timeoutMs: 90_000, intervalMs: 200 };

const appOf = ({ id, name }: DeploymentAnswer) => `${name}-${id.replaceAll('-', '').slice(-8)}`;
const find = (kind: Kind, name: string) =>
  client.find<UntypedObject>(kind, { namespace: berth.namespace, name }, {});
const get = async (kind: Kind, name: string) => {
  const found = await find(kind, name);
  if (found === undefined) throw new Error(`there is no ${kind.kind} ${name}`);
  return found;
};
const remove = (kind: Kind, name: string) => client.delete(kind, { namespace: berth.namespace, name }, {});
const until = <T>(what: string, check: () => Promise<T | undefined | false>) =>
  waitFor(what, async () => (await check()) || undefined, WAIT) as Promise<T>;
const patch = async (id: string, body: object) => {
  const answer = await berth.call('PATCH', `/v2/deployments/${id}`, body);
  expect(answer, JSON.stringify(answer.body)).toMatchObject({ status: 200 });
};
const says = (deployment: DeploymentAnswer, type: string) => {
  const found = deployment.conditions.find((condition) => condition.type === type);
  return `${found?.status} ${found?.reason}`;
};
const condition = (id: string, type: string, wanted: string) =>
  berth.until(id, `${type} ${wanted}`, (deployment) => says(deployment, type) === wanted);

/** What must never change: the volume, and every value of both Secrets. */
async function kept(app: string) {
  const [claim, secret, copy] = await Promise.all([
    get(RESOURCES.PersistentVolumeClaim, `${app}-db`),
    get(RESOURCES.Secret, `${app}-db`),
    get(RESOURCES.Secret, `${app}-db-copy`),
  ]);
  expect(secret['data']).toEqual(copy['data']);
  return { volume: claim.metadata.uid, data: secret['data'] };
}

async function podsOf(app: string, component: string): Promise<UntypedObject[]> {
  const labelSelector = `${LABELS.instance}=${app},${LABELS.component}=${component}`;
  const { items } = await client.listAll<UntypedObject>(RESOURCES.Pod, {
    namespace: berth.namespace,
    labelSelector,
  });
  return items.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
}
const podUid = async (app: string, component: string) => (await podsOf(app, component))[0]?.metadata.uid;

interface Container {
  args: string[];
  resources: object;
}
const containerOf = (pod: UntypedObject | undefined) =>
  (pod?.['spec'] as { containers: Container[] } | undefined)?.containers[0];

async function ready(name: string, more: object = {}) {
  const created = await berth.create({ ...smallDeployment(name), ...more });
  const deployment = await berth.ready(created.id);
  return { ...deployment, app: appOf(created) };
}
const spec = (resource_spec: object) => ({ source_config: { resource_spec } });

describe('the database and the cache of a deployment', () => {
  test.concurrent('are ready before any component is created; the status is AWAITING_DATABASE until then', async () => {
    const made: string[] = [];
    const created = await berth.create(smallDeployment('waiting'));
    const app = appOf(created);
    expect(created.status).toBe('AWAITING_DATABASE');
    await until('READY', async () => {
      const components = await find(RESOURCES.Deployment, `${app}-api`);
      const services = await Promise.all([podsOf(app, 'database'), podsOf(app, 'cache')]);
      if (components !== undefined) made.push(...services.flatMap((pods) => pods.map(readyAt)));
      return components !== undefined;
    });
    const api = await get(RESOURCES.Deployment, `${app}-api`);
    for (const at of made) expect(at <= (api.metadata.creationTimestamp ?? '')).toBe(true);
    expect(made).toHaveLength(2);
    await berth.ready(created.id);
  });

  test.concurrent('change sizes, limits and max_connections in place, with one new pod each and the same volume and password', async () => {
    const { id, app } = await ready('sizes');
    const before = await kept(app);
    const pods = [await podUid(app, 'database'), await podUid(app, 'cache'), await podUid(app, 'api')];
    await patch(id, spec({ db_cpu: 3, db_memory_mb: 768, db_cpu_limit: 4, db_max_connections: 240 }));
    await berth.ready(id);
    const [database] = await podsOf(app, 'database');
    expect(containerOf(database)?.args).toContain('max_connections=240');
    expect(containerOf(database)?.args).toContain('shared_buffers=192MB');
    expect(containerOf(database)?.resources).toMatchObject({
      requests: { cpu: '3', memory: '768Mi' },
      limits: { cpu: '4' },
    });
    expect(database?.metadata.uid).not.toBe(pods[0]);
    expect(await podUid(app, 'cache')).toBe(pods[1]);
    await patch(id, spec({ cache_memory_mb: 700 }));
    await berth.ready(id);
    expect(containerOf((await podsOf(app, 'cache'))[0])?.args).toContain('525mb');
    expect(await podUid(app, 'database')).toBe(database?.metadata.uid);
    expect(await kept(app)).toEqual(before);
  });

  test.concurrent('expand the same volume, and report it meanwhile', async () => {
    const { id, app } = await ready('grows', spec({ db_storage_gi: 10 }));
    const before = await kept(app);
    const stateful = await get(RESOURCES.StatefulSet, `${app}-db`);
    const pod = await podUid(app, 'database');
    // The expansion takes a second, so it is blocked until it was reported.
    const at = { namespace: berth.namespace, name: `${app}-db` };
    const held = (fail: 'resize' | null) =>
      client.patch(
        RESOURCES.PersistentVolumeClaim,
        at,
        { metadata: { labels: { 'sim.example/fail': fail } } } as never,
        { fieldManager: 'test' },
      );
    await held('resize');
    await patch(id, spec({ db_storage_gi: 20 }));
    await condition(id, 'DatabaseReady', 'True VolumeResizing');
    await held(null);
    await condition(id, 'DatabaseReady', 'True DatabaseAvailable');
    await berth.ready(id);
    const claim = await get(RESOURCES.PersistentVolumeClaim, `${app}-db`);
    expect(claim['status']).toMatchObject({ capacity: { storage: '20Gi' } });
    expect(await kept(app)).toEqual(before);
    expect((await get(RESOURCES.StatefulSet, `${app}-db`)).metadata.uid).toBe(stateful.metadata.uid);
    expect(await podUid(app, 'database')).toBe(pod);
  });

  test.concurrent('keep volume and password when a custom URI replaces the database and is removed again; so does the cache', async () => {
    const { id, app } = await ready('custom');
    const before = await kept(app);
    await patch(id, {
      secrets: [
        { name: 'DATABASE_URI_CUSTOM', value: 'postgresql://u:p@db.example/x' },
        { name: 'CACHE_URI_CUSTOM', value: 'redis://cache.example' },
      ],
    });
    await condition(id, 'DatabaseReady', 'True ExternalDatabase');
    await until('no database and no cache', async () => {
      const left = await Promise.all([
        find(RESOURCES.StatefulSet, `${app}-db`),
        find(RESOURCES.Deployment, `${app}-cache`),
      ]);
      return left.every((found) => found === undefined);
    });
    await berth.ready(id);
    expect(await kept(app)).toEqual(before);
    await patch(id, { secrets: [] });
    await condition(id, 'DatabaseReady', 'True DatabaseAvailable');
    await condition(id, 'CacheReady', 'True CacheAvailable');
    await berth.ready(id);
    expect(await kept(app)).toEqual(before);
  });

  test.concurrent('stay in use if a change to a custom URI fails', async () => {
    const { id, app, active_revision_id } = await ready('stays');
    const before = await kept(app);
    const pod = await podUid(app, 'database');
    await patch(id, {
      source_revision_config: { image_uri: 'registry.test/app:fail-invalid-image' },
      secrets: [{ name: 'DATABASE_URI_CUSTOM', value: 'postgresql://u:p@db.example/x' }],
    });
    const back = await condition(id, 'Progressing', 'False RolledBack');
    expect(back.active_revision_id).toBe(active_revision_id);
    expect(await podUid(app, 'database')).toBe(pod);
    expect(await kept(app)).toEqual(before);
  });
});

const readyAt = ({ status }: UntypedObject): string => {
  const { conditions = [] } = (status ?? {}) as {
    conditions?: { type: string; status: string; lastTransitionTime: string }[];
  };
  return (
    conditions.find(({ type, status: is }) => type === 'Ready' && is === 'True')?.lastTransitionTime ??
    'never'
  );
};

describe('an object that a user deletes or edits', () => {
  test.concurrent('Secrets of database and environment are restored in seconds, with their content', async () => {
    const { id, app } = await ready('secretive', { secrets: [{ name: 'TOKEN', value: 'x' }] });
    const before = await kept(app);
    const pods = [await podUid(app, 'database'), await podUid(app, 'api')];
    const environment = await get(RESOURCES.Secret, `${app}-env-1`);
    for (const name of [`${app}-db`, `${app}-env-1`, `${app}-db-copy`]) {
      // From then on it is noticed.
      await until('a sentinel of all three', async () => {
        const { items } = await client.listAll<UntypedObject>(RESOURCES.ControllerRevision, {
          namespace: berth.namespace,
          labelSelector: `${LABELS.instance}=${app},berth.dev/witness`,
        });
        return items.length === 1 && items[0]?.metadata.ownerReferences?.length === 3;
      });
      const uid = (await get(RESOURCES.Secret, name)).metadata.uid;
      await remove(RESOURCES.Secret, name);
      await until(`${name} again`, async () => {
        const found = await find(RESOURCES.Secret, name);
        return found !== undefined && found.metadata.uid !== uid;
      });
    }
    await berth.ready(id);
    expect((await get(RESOURCES.Secret, `${app}-env-1`))['data']).toEqual(environment['data']);
    expect(await kept(app)).toEqual(before);
    expect([await podUid(app, 'database'), await podUid(app, 'api')]).toEqual(pods);
  });

  test.concurrent('the custom resource is restored and finds its volume and password', async () => {
    const { id, app } = await ready('accident');
    const before = await kept(app);
    const resource = await get(RESOURCES.ManagedDeployment, app);
    await remove(RESOURCES.ManagedDeployment, app);
    await until('another custom resource', async () => {
      const found = await find(RESOURCES.ManagedDeployment, app);
      return found !== undefined && found.metadata.uid !== resource.metadata.uid;
    });
    await berth.until(id, 'observed READY again', (now) => says(now, 'Ready') === 'True Converged');
    expect(await kept(app)).toEqual(before);
  });

  test.concurrent('the labels and the owner of a Service are restored, with the same uid', async () => {
    const { id, app } = await ready('stripped');
    const at = { namespace: berth.namespace, name: app };
    const before = await get(RESOURCES.Service, app);
    const labels = Object.fromEntries(Object.keys(before.metadata.labels ?? {}).map((key) => [key, null]));
    await client.patch(RESOURCES.Service, at, { metadata: { labels, ownerReferences: null } } as never, {
      fieldManager: 'test',
    });
    await until('its labels', async () => {
      const found = await get(RESOURCES.Service, app);
      return (
        found.metadata.labels?.[LABELS.deploymentId] === id && found.metadata.ownerReferences?.length === 1
      );
    });
    expect((await get(RESOURCES.Service, app)).metadata.uid).toBe(before.metadata.uid);
    await condition(id, 'Ready', 'True Converged');
  });
});

describe('a custom resource copied by hand', () => {
  test.concurrent('is rejected as a Conflict; nothing is created for it, and the original is unaffected', async () => {
    const { id, app } = await ready('original');
    const original = await get(RESOURCES.ManagedDeployment, app);
    await client.create(
      {
        apiVersion: original.apiVersion,
        kind: original.kind,
        metadata: { name: 'the-copy', namespace: berth.namespace },
        spec: original['spec'],
      } as never,
      { fieldManager: 'test' },
    );
    await until('refused', async () => {
      const { status } = await get(RESOURCES.ManagedDeployment, 'the-copy');
      const text = JSON.stringify(status ?? {});
      return text.includes('"reason":"Conflict"') && text.includes(`ManagedDeployment ${app} has the same`);
    });
    for (const kind of [RESOURCES.Service, RESOURCES.PersistentVolumeClaim, RESOURCES.Deployment]) {
      const { items } = await client.listAll<UntypedObject>(kind, { namespace: berth.namespace });
      expect(items.filter(({ metadata }) => metadata.name.startsWith('the-copy'))).toEqual([]);
    }
    await remove(RESOURCES.ManagedDeployment, 'the-copy');
    expect((await berth.ready(id)).status).toBe('READY');
  });
});

describe('another operator', () => {
  test('reports a class without volume expansion and continues; another rendering restarts nothing', async () => {
    const world = await operatorWorld('another');
    let operator = await startOperator(world.another('fixed', { storageClass: 'fixed-size' }));
    const shop = (number: number, storage: string) =>
      world.apply('shop', {
        revision: { number, image: `registry.example/hello:${number}` },
        database: { storage },
      });
    await shop(1, '10Gi');
    await world.ready('shop');
    await shop(2, '20Gi');
    const refused = await world.until('shop', 'reported, with the new revision active', (status) => {
      return (
        conditionIn(status, 'DatabaseReady') === 'False VolumeNotExpandable' &&
        status.activeRevision?.number === 2
      );
    });
    expect(refused.deploymentStatus).toBe('READY');
    expect(conditionIn(refused, 'Ready')).toBe('False VolumeNotExpandable');
    expect(conditionIn(refused, 'Serving')).toBe('True Available');

    const template = async () =>
      ((await world.get('statefulset', 'shop-db'))?.['spec'] as { template: unknown } | undefined)?.template;
    const pods = async () =>
      (JSON.parse(await world.kubectl('get', 'pods', '-o', 'json')) as { items: UntypedObject[] }).items;
    const uids = async () => (await pods()).map(({ metadata }) => metadata.uid ?? '');
    const stateful = await world.get('statefulset', 'shop-db');
    const note = JSON.parse(stateful?.metadata.annotations?.[ANNOTATIONS.podTemplate] ?? '');
    // As a version would have rendered it that probed more seldom.
    note.template.spec.containers[0].readinessProbe.periodSeconds = 7;
    note.hash = contentHash(note.template);
    const text = `${ANNOTATIONS.podTemplate}=${JSON.stringify(note)}`;
    await world.kubectl('annotate', '--overwrite', 'statefulset', 'shop-db', text);
    await waitFor('it', async () => JSON.stringify(await template()).includes('"periodSeconds":7'), WAIT);
    await world.until(
      'shop',
      'settled',
      (status) => conditionIn(status, 'Ready') === 'False VolumeNotExpandable',
    );
    // The database's pod before is ready, too, until it is replaced.
    const isNew = (pod: UntypedObject) =>
      pod.metadata.name !== 'shop-db-0' || JSON.stringify(pod).includes('"periodSeconds":7');
    const isThere = (pod: UntypedObject) =>
      pod.metadata.deletionTimestamp === undefined && readyAt(pod) !== 'never';
    const before = await until('one ready pod each, of the changed template', async () => {
      const found = await pods();
      return found.length === 3 && found.every((pod) => isNew(pod) && isThere(pod)) && found;
    });
    const rendered = JSON.stringify(await template());

    await operator.stop();
    operator = await startOperator(
      world.another('newer', { databaseImage: 'postgres:19', cacheImage: 'valkey:9', healthPath: '/health' }),
    );
    await shop(3, '20Gi');
    await world.until('shop', 'rolled out by the newer one', (status) => status.activeRevision?.number === 3);
    await operator.stop();
    expect(JSON.stringify(await template())).toBe(rendered);
    // The pod of the revision before takes its time to end.
    const ofBefore = new Set(before.map(({ metadata }) => metadata.uid));
    const kept = async () => (await uids()).filter((uid) => ofBefore.has(uid)).length;
    await waitFor('the pods of database and cache alone', async () => (await kept()) <= 2, WAIT);
    expect(await kept()).toBe(2);
    await world.end();
  });
});
