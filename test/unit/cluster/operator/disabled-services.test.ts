import type { V1Container } from '@kubernetes/client-node';
import { describe, expect, test } from 'vitest';
import type { KubeObject } from '../../../../src/cluster/kube/client/object.ts';
import { ANNOTATIONS } from '../../../../src/contract/resource/names.ts';
import { message, NAMESPACE, revised, settled, template, World } from './fixtures.ts';

/** `database.enabled: false` and `cache.enabled: false`. */

const OFF = { database: { enabled: false }, cache: { enabled: false } };
const of = (number: number, more: object = {}) =>
  revised(`web:${number}`, number, { recordGeneration: number, ...more });

function variables(world: World, component = 'api'): string[] {
  const { spec } = template(world, component) as { spec: { containers: V1Container[] } };
  const app = spec.containers.find(({ name }) => name === 'app');
  return (app?.env ?? []).map(({ name }) => name);
}

const dataObjects = (world: World) => world.cluster.ids().filter((id) => /web-(db|cache)\b/.test(id));
/** Notes the claim whose removal is confirmed, as the listener does. */
function confirmed(world: World, uid: string): void {
  world.cluster.edit(`ManagedDeployment/${NAMESPACE}/web`, ({ metadata }) => {
    metadata.annotations = { ...metadata.annotations, [ANNOTATIONS.claimToRemove]: uid };
  });
}
const claimUid = (world: World) =>
  world.cluster.get(`PersistentVolumeClaim/${NAMESPACE}/web-db`)?.metadata.uid;

describe('a deployment without database and cache', () => {
  test('is READY with one pod, and starts without a wait', async () => {
    const world = new World(of(1, OFF));
    expect(await world.reconcileOnce()).toContain('create Deployment/web-api');
    await world.converge();
    expect(world.status).toMatchObject({ deploymentStatus: 'READY', activeRevision: { number: 1 } });
    expect(world.condition('Ready')).toBe('True Converged');
    expect(world.condition('DatabaseReady')).toBe('True DatabaseDisabled');
    expect(world.condition('CacheReady')).toBe('True CacheDisabled');
    expect(world.cluster.list('Pod')).toHaveLength(1);
    expect(dataObjects(world)).toEqual([]);
    expect(world.status.keptVolume).toBeUndefined();
    expect(variables(world)).not.toContain('DATABASE_URI');
    expect(variables(world)).not.toContain('DATABASE_POOL_SIZE');
    expect(variables(world)).not.toContain('CACHE_URI');
    expect(await world.reconcileOnce()).toEqual([]);
  });

  test('uses the services of the tenant, which have precedence', async () => {
    const env = [
      { name: 'DATABASE_URI_CUSTOM', value: 'postgres://a' },
      { name: 'CACHE_URI_CUSTOM', value: 'redis://a' },
    ];
    const external = { database: { external: true }, cache: { external: true }, podTemplate: { env } };
    const world = await settled(of(1, external));
    const before = template(world, 'api');
    const off = { database: { external: true, enabled: false }, cache: { external: true, enabled: false } };
    world.change(of(1, { ...external, ...off }));
    await world.converge();
    expect(world.condition('DatabaseReady')).toBe('True ExternalDatabase');
    expect(world.condition('CacheReady')).toBe('True ExternalCache');
    expect(template(world, 'api')).toEqual(before);
    expect(variables(world)).toContain('DATABASE_URI');
  });

  test('runs them again after the spec of a placeholder, without a report of a lost service', async () => {
    const world = await settled(of(1, OFF));
    world.cluster.edit(`ManagedDeployment/${NAMESPACE}/web`, (object) => {
      (object['spec'] as Record<string, unknown>)['components'] = 'none';
    });
    await world.reconcileOnce();
    expect(world.condition('DatabaseReady')).toBe('True DatabaseDisabled');
    expect(world.condition('CacheReady')).toBe('True CacheDisabled');
    expect(message(world, 'DatabaseReady')).toBe('the last spec that could be parsed has no database');
  });
});

describe('services that are switched off', () => {
  test('run until no pod uses them, and the volume stays', async () => {
    const world = await settled(of(1));
    const uid = claimUid(world);
    world.change(of(1, { ...OFF, recordGeneration: 2 }));
    await world.reconcileOnce();
    expect(world.status.keptVolume).toBeUndefined();
    expect(world.cluster.ids()).toContain('StatefulSet/web-db');
    expect(world.condition('DatabaseReady')).toBe('True DatabaseAvailable');
    await world.converge();
    const kept = ['PersistentVolumeClaim/web-db', 'Secret/web-db', 'Secret/web-db-copy'];
    expect(dataObjects(world).toSorted()).toEqual(kept);
    expect(variables(world)).not.toContain('DATABASE_URI');
    expect(world.status.keptVolume).toMatchObject({ name: 'web-db', uid, size: '10Gi', unused: true });
    expect(world.status).toMatchObject({ deploymentStatus: 'READY', observedRecordGeneration: 2 });
    expect(message(world, 'DatabaseReady')).toBe(
      'database.enabled is false: Berth runs no database. The volume claim web-db (10Gi) is kept until the ' +
        'deployment is deleted or its owner removes it with database.remove_volume',
    );
    expect(world.status.activeRevision?.number).toBe(1);
    expect(await world.reconcileOnce()).toEqual([]);
  });

  test('use the kept volume when they are switched on again, and pods wait for them', async () => {
    const world = await settled(of(1));
    const uid = claimUid(world);
    world.change(of(1, { ...OFF, recordGeneration: 2 }));
    await world.converge();
    world.change(of(1, { recordGeneration: 3 }));
    await world.reconcileOnce();
    expect(variables(world)).not.toContain('DATABASE_URI');
    expect(world.status.awaiting?.number).toBe(1);
    expect(world.condition('DatabaseReady')).toBe('False DatabaseStarting');
    expect(world.condition('CacheReady')).toBe('False CacheStarting');
    expect(world.condition('Serving')).toMatch(/^True/);
    await world.converge();
    expect(variables(world)).toContain('DATABASE_URI');
    expect(claimUid(world)).toBe(uid);
    expect(world.status.keptVolume).toBeUndefined();
    expect(world.condition('DatabaseReady')).toBe('True DatabaseAvailable');
    expect(world.condition('Ready')).toBe('True Converged');
  });

  test('report their real state while they do not start after they are switched on again', async () => {
    const world = await settled(of(1));
    world.change(of(1, { ...OFF, recordGeneration: 2 }));
    await world.converge();
    world.cluster.stuck.set('database', 'ImagePullBackOff');
    world.change(of(1, { recordGeneration: 3 }));
    await world.converge();
    expect(world.condition('DatabaseReady')).toBe('False DatabaseStarting');
    expect(message(world, 'DatabaseReady')).toMatch(/^the database is not ready yet: .*ImagePullBackOff/);
    expect(message(world, 'DatabaseReady')).not.toContain('enabled');
    expect(world.condition('Ready')).toMatch(/^False/);
    expect(world.status.deploymentStatus).toBe('AWAITING_DATABASE');
    // The pods of the active revision run as before.
    expect(world.condition('Serving')).toMatch(/^True/);
    expect(variables(world)).not.toContain('DATABASE_URI');
  });

  test('do not state that they are switched off when the tenant provides them from now on', async () => {
    const world = await settled(of(1, OFF));
    world.cluster.stuck.set('api', 'InvalidImageName');
    world.change(of(2, { database: { external: true } }));
    await world.converge();
    expect(world.condition('DatabaseReady')).toBe('True ExternalDatabase');
    expect(message(world, 'DatabaseReady')).not.toContain('enabled');
  });

  test('run again when the app does not run without them', async () => {
    const world = await settled(of(1));
    world.cluster.stuck.set('api', 'InvalidImageName');
    world.change(of(1, { ...OFF, recordGeneration: 2 }));
    await world.converge();
    expect(world.status.failedRevision?.reason).toBe('InvalidImageName');
    expect(variables(world)).toContain('DATABASE_URI');
    expect(world.cluster.ids()).toContain('StatefulSet/web-db');
    expect(world.cluster.ids()).toContain('Deployment/web-cache');
    expect(world.status.keptVolume).toBeUndefined();
    expect(world.condition('DatabaseReady')).toBe('True DatabaseAvailable');
  });

  test('stay off when a later revision fails and the former one serves', async () => {
    const world = await settled(of(1, OFF));
    world.cluster.stuck.set('api', 'InvalidImageName');
    world.change(of(2, OFF));
    await world.converge();
    expect(world.status).toMatchObject({ failedRevision: { number: 2 }, activeRevision: { number: 1 } });
    expect(world.condition('DatabaseReady')).toBe('True DatabaseDisabled');
    // A later change of source_config applies to the revision that serves.
    world.cluster.stuck.clear();
    world.change(of(2, { cache: { enabled: false }, recordGeneration: 3 }));
    await world.converge();
    expect(world.images('api')).toEqual(['web:1']);
    expect(variables(world)).toContain('DATABASE_URI');
    expect(variables(world)).not.toContain('CACHE_URI');
    expect(world.condition('DatabaseReady')).toBe('True DatabaseAvailable');
  });

  test('show that the removal of the volume is confirmed, and what it waits for', async () => {
    const world = await settled(of(1));
    const uid = claimUid(world) ?? '';
    const pod = world.cluster.list('Pod').find(({ metadata }) => metadata.name.startsWith('web-db'));
    world.change(of(1, { database: { enabled: false, removeVolume: true }, recordGeneration: 2 }));
    confirmed(world, uid);
    await world.converge();
    const confirmedText =
      'database.enabled is false: Berth runs no database. The removal of the volume claim web-db (10Gi) is confirmed, and waits ';
    expect(message(world, 'DatabaseReady')).toBe(
      `${confirmedText}for the listener, which deletes the claim with all data`,
    );
    world.cluster.put({ ...pod } as KubeObject);
    await world.reconcileOnce();
    expect(message(world, 'DatabaseReady')).toBe(
      `${confirmedText}until no workload and no pod of the database is left`,
    );
  });

  test('show that a confirmed removal waits until the deployment is switched on', async () => {
    const world = await settled(of(1));
    const uid = claimUid(world) ?? '';
    world.change(of(1, { suspend: true, recordGeneration: 2 }));
    await world.converge();
    const removed = { database: { enabled: false, removeVolume: true } };
    world.change(of(1, { ...removed, suspend: true, recordGeneration: 3 }));
    confirmed(world, uid);
    await world.converge();
    expect(world.condition('DatabaseReady')).toBe('False SwitchedOff');
    expect(message(world, 'DatabaseReady')).toBe(
      'switched off: the database does not run, its data is kept. The removal of the volume claim web-db (10Gi) is ' +
        'confirmed, and waits until the deployment is switched on and its new pods do not use the database',
    );
    expect(world.status.keptVolume).toBeUndefined();
    world.change(of(1, { ...removed, recordGeneration: 4 }));
    confirmed(world, uid);
    await world.converge();
    expect(world.status.keptVolume).toMatchObject({ uid, unused: true });
  });

  test('show that the confirmation does not apply to a volume that was restored later', async () => {
    const world = await settled(of(1));
    world.change(of(1, { database: { enabled: false, removeVolume: true }, recordGeneration: 2 }));
    confirmed(world, 'former');
    await world.converge();
    expect(message(world, 'DatabaseReady')).toBe(
      'database.enabled is false: Berth runs no database. The volume claim web-db (10Gi) is kept, because the removal was ' +
        'confirmed for another claim or for none. To remove it, set database.remove_volume to false and, when this is ' +
        'applied, to true',
    );
  });

  test('are in use while a pod of the database terminates', async () => {
    const world = await settled(of(1));
    const pod = world.cluster.list('Pod').find(({ metadata }) => metadata.name.startsWith('web-db'));
    world.change(of(1, { ...OFF, recordGeneration: 2 }));
    await world.converge();
    const leaving = {
      ...pod?.metadata,
      deletionTimestamp: '2026-01-01T00:00:00Z',
      finalizers: ['a.example/b'],
    };
    world.cluster.put({ ...pod, metadata: leaving } as KubeObject);
    await world.reconcileOnce();
    expect(world.status.keptVolume).toMatchObject({ unused: false });
  });

  test('do not report a kept volume after the claim is deleted', async () => {
    const world = await settled(of(1));
    world.change(of(1, { ...OFF, recordGeneration: 2 }));
    await world.converge();
    world.cluster.remove(`PersistentVolumeClaim/${NAMESPACE}/web-db`);
    await world.converge();
    expect(world.status.keptVolume).toBeUndefined();
    expect(message(world, 'DatabaseReady')).toBe('database.enabled is false: Berth runs no database');
    world.change(of(1, { recordGeneration: 3 }));
    await world.converge();
    expect(world.condition('Ready')).toBe('True Converged');
  });
});
