import { describe, expect, test } from 'vitest';
import type { KubeObject } from '../../../../src/cluster/kube/client/object.ts';
import { NAMESPACE, RESOURCE_ID, type Spec, scaled, settled } from './fixtures.ts';

const MINIMAL: Spec = { revision: { image: 'web:1' } };
const AUTOSCALED: Spec = { ...MINIMAL, components: { api: scaled(1, 5) } };

describe('the operator', () => {
  test.each([
    ['no longer autoscaled', { ...MINIMAL, components: { api: scaled(2, 2) } }],
    ['switched off', { ...AUTOSCALED, suspend: true }],
  ])(
    'removes the autoscaler before it writes the number of pods of a component that is %s',
    async (_, spec) => {
      const world = await settled(AUTOSCALED);
      world.change(spec);
      const writes = await world.reconcileOnce();
      expect(writes[0]).toBe('delete HorizontalPodAutoscaler/web-api');
      expect(writes.indexOf('apply Deployment/web-api')).toBeGreaterThan(0);
    },
  );

  test('keeps the number of pods of an autoscaler that cannot be removed', async () => {
    const world = await settled(AUTOSCALED);
    world.change({ ...AUTOSCALED, suspend: true });
    world.cluster.faults = [{ when: ({ verb }) => verb === 'delete', error: 'forbidden' }];
    expect(await world.reconcileOnce()).not.toContain('apply Deployment/web-api');
    expect(world.replicas('api')).toBe(1);
    expect(world.condition('Ready')).toBe('False Refused');
  });

  test('does not revert a number of pods that was set before the deployment is resumed', async () => {
    const world = await settled({ ...AUTOSCALED, suspend: true });
    world.change(AUTOSCALED);
    await world.converge();
    world.change({ ...AUTOSCALED, suspend: true });
    await world.converge();
    world.change(AUTOSCALED);
    await world.reconcileOnce();
    world.cluster.settle();
    const id = `Deployment/${NAMESPACE}/web-api`;
    const { children } = world.cluster.view;
    const seen = world.cluster.get(id);
    world.cluster.view.children = (kind, key) =>
      children(kind, key).map((object) =>
        object.metadata.name === 'web-api' && object.kind === kind && kind === 'Deployment' && seen
          ? seen
          : object,
      );
    world.cluster.scale(id, 3);
    await world.reconcile();
    expect(world.replicas('api')).toBe(3);
    world.cluster.view.children = children;
    await world.converge();
    expect(world.replicas('api')).toBe(3);
  });

  test('keeps a database that is no longer desired until no pod uses it', async () => {
    const world = await settled(MINIMAL);
    world.cluster.stuck.set('api', 'ImagePullBackOff');
    world.change({ ...MINIMAL, database: { external: true }, cache: { external: true } });
    await world.reconcileOnce();
    world.cluster.settle();
    await world.reconcileOnce();
    expect(world.cluster.ids()).toContain('StatefulSet/web-db');
    world.cluster.stuck.clear();
    await world.converge();
    expect(world.cluster.ids()).not.toContain('StatefulSet/web-db');
    expect(world.cluster.ids()).toContain('PersistentVolumeClaim/web-db');
  });

  test('reports a suspended deployment only when the last pod has ended', async () => {
    const world = await settled(MINIMAL);
    world.change({ ...MINIMAL, suspend: true });
    await world.reconcileOnce();
    world.cluster.settle();
    await world.reconcileOnce();
    world.cluster.slowEnd = true;
    world.cluster.settle();
    world.now += 2_000;
    await world.reconcileOnce();
    expect(world.replicas('cache')).toBe(0);
    expect(world.cluster.list('Pod').length).toBeGreaterThan(0);
    expect(world.status).toMatchObject({ suspended: false, deploymentStatus: 'READY' });
    world.cluster.slowEnd = false;
    world.cluster.settle();
    await world.reconcileOnce();
    expect(world.status).toMatchObject({ suspended: true, deploymentStatus: 'UNUSED' });
  });

  test('is not blocked by evicted pods, which are never removed', async () => {
    const world = await settled(MINIMAL);
    for (const name of ['web-api-0', 'web-db-0']) {
      const pod = world.cluster.get(`Pod/${NAMESPACE}/${name}`);
      if (pod === undefined) throw new Error(`there is no pod ${name}`);
      const { labels } = pod.metadata;
      world.cluster.put({
        ...pod,
        metadata: {
          name: `${name}-evicted`,
          namespace: NAMESPACE,
          ...(labels === undefined ? {} : { labels }),
        },
        status: { phase: 'Failed', reason: 'Evicted' },
      } as KubeObject);
    }
    await world.converge();
    expect(world.condition('Ready')).toMatch(/^True/);
    world.change({ ...MINIMAL, suspend: true });
    await world.converge();
    expect(world.replicas('cache')).toBe(0);
    expect(world.status).toMatchObject({ suspended: true, deploymentStatus: 'UNUSED' });
    expect(world.cluster.list('Pod').map(({ metadata }) => metadata.name)).toHaveLength(2);
  });
});

describe('the operator', () => {
  test('does not change an object of an earlier custom resource, which the garbage collector removes', async () => {
    const world = await settled(MINIMAL);
    const service = world.cluster.get(`Service/${NAMESPACE}/web`);
    if (service === undefined) throw new Error('there is no Service');
    const owner = {
      apiVersion: 'berth.dev/v1alpha1',
      kind: 'ManagedDeployment',
      name: 'web',
      uid: 'earlier',
      controller: true,
    };
    world.cluster.put({
      ...service,
      metadata: { ...service.metadata, name: 'web-old', uid: 'x', ownerReferences: [owner] },
    });
    expect(await world.reconcileOnce()).toEqual([]);
  });

  test('does not change a resource that is being deleted or its edited objects, and reports the deletion once', async () => {
    const world = await settled(MINIMAL);
    world.cluster.edit(RESOURCE_ID, ({ metadata }) => {
      metadata.deletionTimestamp = '2026-01-01T00:00:00Z';
    });
    world.cluster.edit(`Service/${NAMESPACE}/web`, ({ metadata }) => {
      metadata.labels = { ...metadata.labels, 'app.kubernetes.io/part-of': 'other' };
    });
    expect(await world.reconcileOnce()).toEqual(['status ManagedDeployment/web']);
    expect(await world.reconcileOnce()).toEqual([]);
  });

  test('changes nothing until the caches show its last write', async () => {
    const world = await settled(MINIMAL);
    world.cluster.remove(`Service/${NAMESPACE}/web`);
    expect(await world.reconcileOnce()).toEqual(['create Service/web']);
    world.cluster.view.isCurrent = () => false;
    world.cluster.remove(`Service/${NAMESPACE}/web`);
    expect(await world.reconcile()).toMatchObject({ kind: 'requeue' });
    expect(world.cluster.get(`Service/${NAMESPACE}/web`)).toBeUndefined();
    world.cluster.view.isCurrent = () => true;
    expect(await world.reconcileOnce()).toEqual(['create Service/web']);
  });

  test('does not delete an undesired object that has changed since it was observed', async () => {
    const world = await settled({ ...MINIMAL, components: { api: scaled(2, 2) } });
    const stale = world.cluster.get(`PodDisruptionBudget/${NAMESPACE}/web-api`);
    world.cluster.edit(`PodDisruptionBudget/${NAMESPACE}/web-api`, ({ metadata }) => {
      metadata.annotations = { ...metadata.annotations, note: 'mine' };
    });
    const children = world.cluster.view.children;
    world.cluster.view.children = (kind, key) =>
      kind === 'PodDisruptionBudget' && stale !== undefined ? [stale] : children(kind, key);
    world.change(MINIMAL);
    expect(await world.reconcile()).toMatchObject({ kind: 'retry' });
    expect(world.cluster.ids()).toContain('PodDisruptionBudget/web-api');
    world.cluster.view.children = children;
    await world.converge();
    expect(world.cluster.ids()).not.toContain('PodDisruptionBudget/web-api');
  });

  test('does not delete stored templates in use, even if they are old', async () => {
    const world = await settled({ revision: { image: 'web:1', number: 1 } });
    for (let number = 2; number <= 13; number += 1) {
      world.change({ revision: { image: `web:${number}`, number } });
      await world.converge();
    }
    world.change({ revision: { image: 'web:1', number: 1 } });
    await world.converge();
    expect(world.status.activeRevision).toMatchObject({ number: 1, templates: 'web-1' });
    expect(world.cluster.ids()).toContain('ControllerRevision/web-1');
  });
});

test('a rollout is not complete while a pod of the former template remains', async () => {
  const world = await settled(MINIMAL);
  world.change({ revision: { image: 'web:2', number: 2 } });
  await world.reconcileOnce();
  const id = `Deployment/${NAMESPACE}/web-api`;
  world.cluster.edit(id, (object) => {
    const { generation } = object.metadata;
    object['status'] = {
      observedGeneration: generation,
      replicas: 2,
      updatedReplicas: 1,
      readyReplicas: 2,
      availableReplicas: 1,
    };
  });
  expect(await world.reconcileOnce()).toEqual([]);
  // A change of the message alone is written a second later.
  world.now += 1_000;
  await world.reconcileOnce();
  expect(world.status.activeRevision?.number).toBe(1);
  const message = world.status.conditions?.find(({ type }) => type === 'Progressing')?.message;
  expect(message).toContain('old pods left: 1');
  await world.converge();
  expect(world.status.activeRevision?.number).toBe(2);
});
