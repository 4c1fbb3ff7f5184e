import { describe, expect, test } from 'vitest';
import { SENTINEL_LABEL } from '../../../../../src/workloads/objects/secret-sentinel.ts';
import { CONFIG, NAMESPACE, RESOURCE_ID, type Spec, scaled, settled, World } from '../fixtures.ts';

const spec = (image: string, number: number, more: object = {}): Spec => ({
  deploymentId: '0197a000-0000-7000-8000-00000000abcd',
  revision: { id: `0197a000-0000-7000-8000-00000000000${number}`, number, image },
  ...more,
});

describe('a new revision', () => {
  test('becomes active only when every component runs it', async () => {
    const both = { components: { api: scaled(1, 1), queue: scaled(1, 1) } };
    const world = await settled(spec('web:1', 1, both));
    world.change(spec('web:2', 2, both));
    world.cluster.stuck.set('queue', 'ImagePullBackOff');
    await world.reconcileOnce();
    expect(world.status.rollout).toMatchObject({ number: 2, templates: 'web-2' });
    world.cluster.settle();
    world.now += 2_000;
    await world.reconcileOnce();
    expect(world.status.activeRevision).toMatchObject({ number: 1, templates: 'web-1' });
    expect(world.condition('Progressing')).toBe('True RolloutInProgress');
    expect(world.condition('Ready')).toBe('False ImagePullFailed');
    const message = world.status.conditions?.find(({ type }) => type === 'Progressing')?.message;
    expect(message).toBe(
      'revision 2: queue: 0 of 1 pods are available; pod web-queue-0, container app: ImagePullBackOff',
    );
    world.cluster.stuck.clear();
    await world.converge();
    expect(world.status.activeRevision).toMatchObject({ number: 2, templates: 'web-2', image: 'web:2' });
    expect(world.status.rollout).toBeUndefined();
    expect(world.status.deploymentStatus).toBe('READY');
  });

  test('is not complete while the pod counts are those of the former template', async () => {
    const world = await settled(spec('web:1', 1));
    world.change(spec('web:2', 2));
    await world.reconcileOnce();
    // The Deployment controller has not observed the change yet: its counts are those of revision 1.
    const api = world.cluster.get(`Deployment/${NAMESPACE}/web-api`);
    expect(api?.['status']).toMatchObject({ updatedReplicas: 1, availableReplicas: 1 });
    await world.reconcileOnce();
    expect(world.status.activeRevision?.number).toBe(1);
    expect(world.status.components).toMatchObject([{ name: 'api', updated: 0 }]);
    await world.converge();
    expect(world.status.activeRevision?.number).toBe(2);
  });

  test('requeues when it becomes active, so that objects of the former revision are removed', async () => {
    const world = await settled(spec('web:1', 1));
    world.change(spec('web:2', 2));
    let outcome = await world.reconcile();
    for (let round = 0; round < 20 && world.status.activeRevision?.number === 1; round += 1) {
      world.cluster.settle();
      world.now += 2_000;
      outcome = await world.reconcile();
    }
    expect(world.status.activeRevision?.number).toBe(2);
    expect(outcome).toMatchObject({ kind: 'requeue', afterMs: 100 });
    expect([await world.reconcileOnce(), await world.reconcile()]).toEqual([[], { kind: 'settled' }]);
  });

  test('writes only the stored templates and the Deployment when the image changes', async () => {
    const world = await settled(spec('web:1', 1));
    world.change(spec('web:2', 2));
    const writes = (await world.converge()).filter((write) => !write.startsWith('status'));
    expect(writes).toEqual(['create ControllerRevision/web-2', 'apply Deployment/web-api']);
  });

  test('causes only a few rollouts for fifty quick changes, the last of which becomes active', async () => {
    const world = await settled(spec('web:1', 1));
    world.cluster.stuck.set('api', 'ContainerCreating');
    const writes: string[] = [];
    for (let number = 2; number <= 51; number += 1) {
      world.change(spec(`web:${number}`, number));
      writes.push(...(await world.reconcileOnce()));
      world.cluster.settle();
      world.now += 100;
    }
    expect(writes.filter((write) => write === 'apply Deployment/web-api').length).toBeLessThanOrEqual(3);
    world.cluster.stuck.clear();
    await world.converge();
    expect(world.status.activeRevision).toMatchObject({ number: 51, image: 'web:51' });
  });

  test('reports the generation of the hub when the rollout is complete, and the first one at once', async () => {
    const world = new World(spec('web:1', 1, { recordGeneration: 4 }));
    await world.reconcileOnce();
    expect(world.status).toMatchObject({ observedGeneration: 1, observedRecordGeneration: 4 });
    await world.converge();
    world.change(spec('web:2', 2, { recordGeneration: 5 }));
    await world.reconcileOnce();
    expect(world.status).toMatchObject({ observedGeneration: 2, observedRecordGeneration: 4 });
    await world.converge();
    expect(world.status.observedRecordGeneration).toBe(5);
    world.change(spec('web:2', 2, { recordGeneration: 6, suspend: true }));
    await world.reconcileOnce();
    expect(world.status).toMatchObject({ suspended: false, observedRecordGeneration: 5 });
    await world.converge();
    expect(world.status).toMatchObject({ suspended: true, observedRecordGeneration: 6 });
  });

  test('replaces a hanging rollout after a pause', async () => {
    const world = await settled(spec('web:1', 1));
    world.cluster.stuck.set('api', 'ImagePullBackOff');
    world.change(spec('web:broken', 2));
    await world.reconcileOnce();
    world.change(spec('web:3', 3));
    await world.reconcileOnce();
    expect(world.status.rollout?.number).toBe(2);
    expect(world.images('api')).toEqual(['web:broken']);
    world.now += 3_000;
    await world.reconcileOnce();
    expect(world.status.rollout?.number).toBe(3);
    expect(world.images('api')).toEqual(['web:3']);
  });

  test('returns to the active templates without pods when it is suspended during its rollout', async () => {
    const world = await settled(spec('web:1', 1));
    world.cluster.stuck.set('api', 'ImagePullBackOff');
    world.change(spec('web:2', 2));
    await world.reconcileOnce();
    world.change(spec('web:2', 2, { suspend: true }));
    await world.converge();
    expect(world.images('api')).toEqual(['web:1']);
    expect(world.status).toMatchObject({ suspended: true, activeRevision: { number: 1 } });
    expect(world.status.rollout).toBeUndefined();
    world.cluster.stuck.clear();
    world.change(spec('web:2', 2));
    await world.converge();
    expect(world.status.activeRevision?.number).toBe(2);
  });
});

describe('a change in place', () => {
  const labelled = (team: string) => spec('web:1', 1, { podTemplate: { labels: { team } } });

  test('keeps the revision number and replaces the active templates on success', async () => {
    const world = await settled(labelled('a'));
    world.change(labelled('b'));
    await world.reconcileOnce();
    expect(world.status.rollout).toMatchObject({ number: 1, templates: 'web-1-2' });
    expect(world.status.activeRevision).toMatchObject({ number: 1, templates: 'web-1' });
    await world.converge();
    expect(world.status.activeRevision).toMatchObject({ number: 1, templates: 'web-1-2' });
  });

  test('uses the stored templates again when it is reverted', async () => {
    const world = await settled(labelled('a'));
    world.change(labelled('b'));
    await world.converge();
    world.change(labelled('a'));
    const writes = await world.converge();
    expect(writes.filter((write) => write.includes('ControllerRevision'))).toEqual([]);
    expect(world.status.activeRevision).toMatchObject({ number: 1, templates: 'web-1' });
  });

  test('removes a field from the workload when the spec no longer has it', async () => {
    const world = await settled(
      spec('web:1', 1, {
        podTemplate: { labels: { team: 'a' }, sidecars: [{ name: 'log', image: 'log:1' }] },
      }),
    );
    expect(world.images('api')).toEqual(['web:1', 'log:1']);
    world.change(spec('web:1', 1));
    await world.converge();
    expect(world.images('api')).toEqual(['web:1']);
    expect(world.cluster.get(`Deployment/${NAMESPACE}/web-api`)?.metadata.labels).not.toHaveProperty('team');
  });

  test('restarts nothing when only the scale changes', async () => {
    const world = await settled(spec('web:1', 1));
    world.change(spec('web:1', 1, { components: { api: scaled(2, 2) } }));
    const writes = await world.converge();
    expect(writes.filter((write) => write.includes('ControllerRevision'))).toEqual([]);
    expect(world.status.activeRevision?.templates).toBe('web-1');
    expect(world.replicas('api')).toBe(2);
  });
});

describe('pod counts', () => {
  test('stay those of the autoscaler when the image changes', async () => {
    const autoscaled = { components: { api: scaled(1, 9) } };
    const world = await settled(spec('web:1', 1, autoscaled));
    world.cluster.scale(`Deployment/${NAMESPACE}/web-api`, 6);
    world.change(spec('web:2', 2, autoscaled));
    await world.converge();
    expect([world.replicas('api'), world.images('api')]).toEqual([6, ['web:2']]);
  });

  test('are handed over to the autoscaler before an apply omits them', async () => {
    const autoscaled = { components: { api: scaled(3, 9) } };
    const world = await settled(spec('web:1', 1, autoscaled));
    world.change(spec('web:2', 2, autoscaled));
    const writes = (await world.converge()).filter((write) => write.includes('Deployment/web-api'));
    expect(writes.length).toBe(2);
    expect(world.replicas('api')).toBe(3);
    world.change(spec('web:3', 3, autoscaled));
    const later = (await world.converge()).filter((write) => write.includes('Deployment/web-api'));
    expect(later.length).toBe(1);
    expect(world.replicas('api')).toBe(3);
  });
});

test('reports pods that have been ready for less than BERTH_MIN_READY_SECONDS', async () => {
  const world = await settled(spec('web:1', 1));
  world.restart({ ...CONFIG, minReadySeconds: 10 });
  // The setting alone does not change the template: no pod is restarted.
  const writes = await world.converge();
  expect(new Set(writes)).toEqual(new Set(['apply Deployment/web-api', 'status ManagedDeployment/web']));
  expect(world.status.activeRevision).toMatchObject({ templates: 'web-1' });
  world.change(spec('web:2', 2));
  await world.reconcileOnce();
  world.cluster.settle();
  world.cluster.edit(`Deployment/${NAMESPACE}/web-api`, (object) => {
    object['status'] = { ...(object['status'] as object), availableReplicas: 0 };
  });
  expect(await world.reconcileOnce()).toEqual([]);
  // A change of the message alone is written a second later.
  world.now += 1_000;
  await world.reconcileOnce();
  expect(world.status.conditions?.find(({ type }) => type === 'Progressing')?.message).toBe(
    'revision 2: api: 0 of 1 pods are available, 1 ready for less than 10 s',
  );
});

describe('stored templates', () => {
  const kept = (world: World) =>
    world.cluster
      .list('ControllerRevision')
      .filter(({ metadata }) => metadata.labels?.[SENTINEL_LABEL] === undefined)
      .map(({ metadata }) => metadata.name);

  test('are kept for the last ten changes when all of them have failed, and then nothing is written', async () => {
    const world = new World(spec('web:1', 1));
    world.cluster.stuck.set('api', 'InvalidImageName');
    for (let number = 1; number <= 14; number += 1) {
      world.change(spec(`web:${number}`, number));
      await world.converge();
      expect(world.status.failedRevision).toMatchObject({ number });
    }
    expect(kept(world)).toEqual(Array.from({ length: 10 }, (_, index) => `web-${index + 5}`));
    expect(await world.reconcileOnce()).toEqual([]);
  });

  test('are removed after a burst of changes when the last rollout is complete', async () => {
    const world = await settled(spec('web:1', 1));
    world.cluster.stuck.set('api', 'ContainerCreating');
    for (let number = 2; number <= 25; number += 1) {
      world.change(spec(`web:${number}`, number));
      await world.reconcileOnce();
      world.now += 5_000;
    }
    expect(kept(world)).toHaveLength(25);
    world.cluster.stuck.clear();
    await world.converge();
    expect(kept(world)).toEqual(Array.from({ length: 10 }, (_, index) => `web-${index + 16}`));
  });

  test('are kept for the last ten changes and the active revision', async () => {
    const world = await settled(spec('web:1', 1));
    for (let number = 2; number <= 14; number += 1) {
      world.change(spec(`web:${number}`, number));
      await world.converge();
    }
    expect(kept(world)).toEqual(Array.from({ length: 10 }, (_, index) => `web-${index + 5}`));
  });

  test('are used again without a restart when the custom resource is deleted and created again', async () => {
    const world = await settled(spec('web:1', 1));
    const before = world.cluster.get(`ControllerRevision/${NAMESPACE}/web-1`)?.metadata.uid;
    const resource = world.cluster.get(RESOURCE_ID);
    world.cluster.remove(RESOURCE_ID);
    expect(world.cluster.ids()).toEqual([
      'ControllerRevision/web-1',
      expect.stringMatching(/^ControllerRevision\/web-secrets-[0-9a-f]{8}$/),
      'PersistentVolumeClaim/web-db',
      'Secret/web-db',
      'Secret/web-db-copy',
    ]);
    if (resource) {
      const { status: _, ...fresh } = resource;
      world.cluster.put({ ...fresh, metadata: { name: 'web', namespace: NAMESPACE, uid: 'another' } });
    }
    world.restart({ ...CONFIG, otlpEndpoint: 'http://collector:4318' });
    const writes = await world.converge();
    expect(writes).not.toContain('create Secret/web-db');
    expect(writes.filter((write) => write.includes('ControllerRevision'))).toEqual([]);
    expect(world.cluster.get(`ControllerRevision/${NAMESPACE}/web-1`)?.metadata.uid).toBe(before);
    expect(world.status.activeRevision).toMatchObject({ number: 1, templates: 'web-1' });
  });

  test('are created again after they were deleted', async () => {
    const world = await settled(spec('web:1', 1));
    world.cluster.remove(`ControllerRevision/${NAMESPACE}/web-1`);
    expect(await world.converge()).toContain('create ControllerRevision/web-1');
    expect(world.status.activeRevision).toMatchObject({ number: 1, templates: 'web-1' });
  });
});

test('a resource applied by hand uses its volume again after it was deleted and applied again', async () => {
  const world = await settled({ revision: { image: 'web:1' } });
  const volume = world.cluster.get(`PersistentVolumeClaim/${NAMESPACE}/web-db`)?.metadata.uid;
  const resource = world.cluster.get(RESOURCE_ID);
  world.cluster.remove(RESOURCE_ID);
  if (resource) {
    const { status: _, ...fresh } = resource;
    world.cluster.put({ ...fresh, metadata: { name: 'web', namespace: NAMESPACE, uid: 'another' } });
  }
  await world.converge();
  expect(world.status.deploymentStatus).toBe('READY');
  expect(world.cluster.get(`PersistentVolumeClaim/${NAMESPACE}/web-db`)?.metadata.uid).toBe(volume);
});
