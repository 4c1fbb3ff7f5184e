import { describe, expect, test } from 'vitest';
import type { KubeObject } from '../../../../src/cluster/kube/client/object.ts';
import { LABELS, MANAGED_BY } from '../../../../src/contract/resource/names.ts';
import { message, NAMESPACE, RESOURCE_ID, revised, settled, type World } from './fixtures.ts';

async function leaving() {
  const world = await settled(revised('web:1', 1));
  world.cluster.edit(RESOURCE_ID, ({ metadata }) => {
    metadata.deletionTimestamp = '2026-01-01T01:00:00Z';
  });
  return world;
}

test('reports that a resource is being deleted, and changes nothing else', async () => {
  const world = await leaving();
  expect(await world.reconcileOnce()).toEqual(['status ManagedDeployment/web']);
  expect(await world.reconcileOnce()).toEqual([]);
});

test('reports at once what blocks the deletion, because no later event does', async () => {
  const world = await leaving();
  const held = (by: string[]) =>
    world.cluster.edit(RESOURCE_ID, ({ metadata }) => {
      metadata.finalizers = by;
    });
  held(['example.com/a', 'example.com/b']);
  await world.reconcileOnce();
  held(['example.com/b']);
  expect(await world.reconcileOnce()).toEqual(['status ManagedDeployment/web']);
  const message = world.status.conditions?.find(({ type }) => type === 'Ready')?.message;
  expect(message).toContain('example.com/b');
  expect(message).not.toContain('example.com/a');
});

test('does not retry when the API server rejects the status of a resource that is being deleted', async () => {
  const world = await leaving();
  world.cluster.faults.push({ when: ({ verb }) => verb === 'status', error: 'invalid' });
  expect(await world.reconcile()).toEqual({ kind: 'settled' });
});

test('retries another failure of the status', async () => {
  const world = await leaving();
  world.cluster.faults.push({ when: ({ verb }) => verb === 'status', error: 'server' });
  await expect(world.reconcile()).rejects.toThrow('ManagedDeployment/web');
});

const HELD = 'example.com/hold';
const SINCE = '2026-01-01T01:00:00Z';
const id = (kind: string, name: string) => `${kind}/${NAMESPACE}/${name}`;
const holdLeaving = (world: World, kind: string, name: string, finalizers = [HELD]) =>
  world.cluster.edit(id(kind, name), ({ metadata }) => {
    metadata.deletionTimestamp = SINCE;
    metadata.finalizers = finalizers;
  });

test.each([
  ['StatefulSet', 'web-db'],
  ['Service', 'web'],
  ['Deployment', 'web-api'],
  ['PersistentVolumeClaim', 'web-db'],
])('names a %s that blocks the deletion, once', async (kind, name) => {
  const world = await leaving();
  holdLeaving(world, kind, name);
  expect(await world.reconcileOnce()).toEqual(['status ManagedDeployment/web']);
  expect(await world.reconcileOnce()).toEqual([]);
  expect(world.condition('Ready')).toBe('False FinalizerBlocks');
  expect(message(world, 'Ready')).toContain(
    `${kind} ${name} is being deleted and is held by the finalizer ${HELD}`,
  );
  expect(world.condition('Serving')).toBe('Unknown BeingDeleted');
  world.cluster.edit(id(kind, name), ({ metadata }) => {
    metadata.finalizers = [];
  });
  await world.reconcileOnce();
  expect(world.condition('Ready')).toBe('False BeingDeleted');
  const reasons = world.events.map(({ reason }) => reason);
  expect([reasons.includes('FinalizerBlocks'), reasons.includes('Restored')]).toEqual([true, false]);
});

test('names a pod of a node that does not respond when the pod should have ended', async () => {
  const world = await settled(revised('web:1', 1));
  world.now = Date.parse(SINCE);
  world.cluster.edit(RESOURCE_ID, ({ metadata }) => {
    metadata.deletionTimestamp = SINCE;
  });
  const labels = {
    [LABELS.managedBy]: MANAGED_BY,
    [LABELS.deploymentId]: '0197a000-0000-7000-8000-00000000abcd',
    [LABELS.instance]: 'web',
    [LABELS.component]: 'api',
  };
  const pod = { name: 'web-api-1', namespace: NAMESPACE, labels, deletionTimestamp: SINCE };
  world.cluster.put({ apiVersion: 'v1', kind: 'Pod', metadata: pod } as KubeObject);
  expect(await world.reconcile()).toEqual({ kind: 'requeue', afterMs: 15_000 });
  expect(world.condition('Ready')).toBe('False BeingDeleted');
  world.now += 15_000;
  await world.reconcileOnce();
  expect(world.condition('Ready')).toBe('False PodNotEnding');
});

test('reports the rejection of a dry-run deletion for an object that the garbage collector does not delete', async () => {
  const world = await leaving();
  world.cluster.edit(RESOURCE_ID, ({ metadata }) => {
    metadata.finalizers = ['foregroundDeletion'];
  });
  world.now = Date.parse(SINCE);
  expect(await world.reconcile()).toEqual({ kind: 'requeue', afterMs: 15_000 });
  world.now += 15_000;
  const before = world.cluster.ids();
  world.cluster.faults.push({ when: ({ verb }) => verb === 'delete', error: 'forbidden' });
  expect(await world.reconcile()).toMatchObject({ kind: 'requeue', afterMs: 30_000 });
  expect(world.condition('Ready')).toBe('False DeletionRefused');
  expect(world.cluster.ids()).toEqual(before);
});

describe('a deployment that is not being deleted', () => {
  test('reports Unknown for a ready database whose StatefulSet is being deleted', async () => {
    const world = await settled(revised('web:1', 1));
    holdLeaving(world, 'StatefulSet', 'web-db');
    await world.reconcileOnce();
    expect(world.condition('DatabaseReady')).toBe('Unknown FinalizerBlocks');
    expect(world.condition('Ready')).toBe('False FinalizerBlocks');
    expect(message(world, 'Ready')).toContain(HELD);
    world.cluster.remove(id('StatefulSet', 'web-db'));
    await world.converge();
    expect(world.condition('Ready')).toBe('True Converged');
  });

  test.each([
    ['Deployment', 'web-cache', 'CacheReady'],
    ['Deployment', 'web-api', 'Serving'],
  ])('does not report a %s %s that is being deleted as %s True', async (kind, name, type) => {
    const world = await settled(revised('web:1', 1));
    holdLeaving(world, kind, name);
    await world.reconcileOnce();
    expect(world.condition(type)).toBe('Unknown FinalizerBlocks');
    expect(world.condition('Ready')).toBe('False FinalizerBlocks');
  });

  test('names in Ready a Service whose deletion is blocked', async () => {
    const world = await settled(revised('web:1', 1));
    holdLeaving(world, 'Service', 'web');
    await world.reconcileOnce();
    expect(world.condition('Ready')).toBe('False FinalizerBlocks');
    expect(message(world, 'Ready')).toContain('Service web');
    expect(world.events.filter(({ reason }) => reason === 'FinalizerBlocks')).toHaveLength(1);
  });

  test('names a claim that has lost its PersistentVolume', async () => {
    const world = await settled(revised('web:1', 1));
    world.cluster.edit(id('PersistentVolumeClaim', 'web-db'), (claim) => {
      Object.assign(claim, {
        spec: { ...(claim['spec'] as object), volumeName: 'pv-1' },
        status: { phase: 'Lost' },
      });
    });
    await world.reconcileOnce();
    expect(world.condition('DatabaseReady')).toBe('False VolumeLost');
    expect(world.condition('Ready')).toBe('False VolumeLost');
    expect(message(world, 'Ready')).toMatch(/PersistentVolumeClaim web-db is Lost.*pv-1/);
  });

  test('names a claim and the finalizer that blocks its deletion', async () => {
    const world = await settled(revised('web:1', 1));
    holdLeaving(world, 'PersistentVolumeClaim', 'web-db');
    await world.reconcileOnce();
    expect(world.condition('DatabaseReady')).toBe('False VolumeBeingDeleted');
    expect(message(world, 'Ready')).toContain(HELD);
  });
});
