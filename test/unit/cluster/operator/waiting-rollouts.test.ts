import { describe, expect, test } from 'vitest';
import {
  message,
  NAMESPACE,
  RESOURCE_ID,
  scaled,
  settled,
  revised as spec,
  steps,
  template,
  World,
} from './fixtures.ts';

/** Rollouts that are neither complete nor failed: what is reported meanwhile, and when they end. */

describe('a temporary problem', () => {
  test('is reported by name in Ready when the database has it, while DatabaseReady reports a start', async () => {
    const world = new World(spec('web:1', 1));
    world.cluster.stuck.set('database', 'ErrImagePull');
    await steps(world, 3);
    expect([
      world.condition('Ready'),
      world.condition('DatabaseReady'),
      world.status.deploymentStatus,
    ]).toEqual(['False ImagePullFailed', 'False DatabaseStarting', 'AWAITING_DATABASE']);
    expect(message(world, 'Ready')).toMatch(
      /^the database is not ready yet: pod \S+, container .*ErrImagePull/,
    );
    world.cluster.stuck.set('database', 'ContainerCreating');
    await steps(world, 2);
    expect(world.condition('Ready')).toBe('False DatabaseStarting');
    world.cluster.stuck.clear();
    await world.converge();
    expect(world.condition('Ready')).toBe('True Converged');
  });

  test('is not reported as a start when the database was ready, and a new revision is rolled out meanwhile', async () => {
    const world = await settled(spec('web:1', 1));
    world.cluster.stuck.set('database', 'ContainerCreating');
    world.cluster.settle();
    for (const _ of [1, 2]) {
      await world.reconcileOnce();
      expect([
        world.condition('DatabaseReady'),
        world.condition('Ready'),
        world.status.deploymentStatus,
      ]).toEqual(['False DatabaseUnavailable', 'False DatabaseUnavailable', 'AWAITING_DATABASE']);
    }
    expect(message(world, 'DatabaseReady')).toMatch(
      /^the database was ready and is no longer ready: pod \S+/,
    );
    expect(world.condition('Serving')).toBe('True Available');
    world.change(spec('web:2', 2));
    await steps(world, 4);
    expect(world.status).toMatchObject({
      deploymentStatus: 'AWAITING_DATABASE',
      activeRevision: { number: 2 },
    });
    world.cluster.stuck.clear();
    await world.converge();
    expect([world.condition('Ready'), world.status.deploymentStatus]).toEqual(['True Converged', 'READY']);
  });

  test('is not reported as a start when the claim of the database was deleted', async () => {
    const world = await settled(spec('web:1', 1));
    world.cluster.edit(`PersistentVolumeClaim/${NAMESPACE}/web-db`, ({ metadata }) => {
      metadata.deletionTimestamp = '2026-01-01T00:10:00Z';
    });
    await world.reconcileOnce();
    expect([world.condition('DatabaseReady'), world.status.deploymentStatus]).toEqual([
      'False VolumeBeingDeleted',
      'READY',
    ]);
    world.cluster.stuck.set('database', 'ContainerCreating');
    world.cluster.settle();
    for (const _ of [1, 2]) {
      await world.reconcileOnce();
      expect([world.condition('DatabaseReady'), world.status.deploymentStatus]).toEqual([
        'False DatabaseUnavailable',
        'AWAITING_DATABASE',
      ]);
    }
  });

  test('is reported by name in Ready while it lasts, and the rollout continues', async () => {
    const world = await settled(spec('web:1', 1));
    world.change(spec('web:2', 2));
    world.cluster.stuck.set('api', 'CreateContainerError');
    await steps(world, 2);
    expect([world.condition('Ready'), world.condition('Progressing')]).toEqual([
      'False ContainerConfigInvalid',
      'True RolloutInProgress',
    ]);
    expect(message(world, 'Ready')).toMatch(/^api: pod web-api-0, container app: CreateContainerError/);
    expect(world.status).toMatchObject({ rollout: { number: 2 } });
    expect(world.status.failedRevision).toBeUndefined();
    world.cluster.stuck.clear();
    await world.converge();
    expect(world.condition('Ready')).toBe('True Converged');
  });
});

describe('a Deployment that was paused with kubectl rollout pause', () => {
  const id = `Deployment/${NAMESPACE}/web-api`;
  const pause = (world: World) =>
    world.cluster.edit(id, (object) => {
      object['spec'] = { ...(object['spec'] as object), paused: true };
    });
  const paused = (world: World) =>
    (world.cluster.get(id)?.['spec'] as { paused?: boolean } | undefined)?.paused;

  test('is resumed by one write, because otherwise no change would be rolled out, not even a rollback', async () => {
    const world = await settled(spec('web:1', 1));
    world.cluster.stuck.set('api', 'ContainerCreating');
    world.change(spec('web:2', 2));
    await world.reconcileOnce();
    pause(world);
    expect(await world.reconcileOnce()).toContain('apply Deployment/web-api');
    expect(paused(world)).toBe(false);
    expect(await steps(world, 2)).not.toContain('apply Deployment/web-api');
    world.cluster.stuck.clear();
    await world.converge();
    expect(world.condition('Ready')).toBe('True Converged');
    pause(world);
    expect(await world.reconcileOnce()).toContain('apply Deployment/web-api');
    expect(world.events.filter(({ reason }) => reason === 'ObjectCorrected').at(-1)?.message).toMatch(
      /Deployment web-api was corrected: spec\.paused is true, not false \(to pause the deployment, set the annotation berth\.dev\/paused\)/,
    );
  });

  test('stays paused while the annotation pauses the resource, and the status says how to resume it', async () => {
    const world = await settled(spec('web:1', 1));
    world.cluster.edit(RESOURCE_ID, ({ metadata }) => {
      metadata.annotations = { ...metadata.annotations, 'berth.dev/paused': 'true' };
    });
    pause(world);
    await steps(world, 2);
    expect(paused(world)).toBe(true);
    expect(world.condition('Ready')).toBe('False Paused');
    expect(message(world, 'Ready')).toBe('paused: pending: apply Deployment/web-api');
    expect(message(world, 'Paused')).toContain(
      `until it is removed: kubectl annotate -n ${NAMESPACE} mdep/web berth.dev/paused-`,
    );
  });
});

describe('the deadline', () => {
  test('causes a requeue, counts from the recorded start, and survives a restart', async () => {
    const world = await settled(spec('web:1', 1));
    world.change(spec('web:2', 2));
    world.cluster.stuck.set('api', 'CreateContainerError');
    await steps(world, 2);
    const startedAt = Date.parse(world.status.rollout?.startTime ?? '');
    world.now = startedAt + 100_000;
    world.restart();
    expect(await world.reconcile()).toEqual({ kind: 'requeue', afterMs: 500_000 });
    world.now = startedAt + 599_999;
    await world.reconcile();
    expect(world.status.failedRevision).toBeUndefined();
    world.now = startedAt + 600_000;
    expect(await world.reconcile()).toMatchObject({ kind: 'requeue', afterMs: 100 });
    expect(world.status.failedRevision).toMatchObject({ number: 2, reason: 'ContainerConfigInvalid' });
  });

  test('does not count the time of a pause', async () => {
    const world = await settled(spec('web:1', 1));
    world.change(spec('web:2', 2));
    world.cluster.stuck.set('api', 'ContainerCreating');
    await steps(world, 2);
    const pause = (paused: string) =>
      world.cluster.edit(RESOURCE_ID, ({ metadata }) => {
        metadata.annotations = { ...metadata.annotations, 'berth.dev/paused': paused };
      });
    pause('true');
    await world.reconcileOnce();
    world.now += 3_600_000;
    await world.reconcileOnce();
    expect(world.status.failedRevision).toBeUndefined();
    pause('false');
    await world.reconcileOnce();
    expect(world.status.failedRevision).toBeUndefined();
    expect(Date.parse(world.status.rollout?.startTime ?? '')).toBe(world.now);
  });

  test('does not apply to database and cache', async () => {
    const world = new World(spec('web:1', 1));
    world.cluster.stuck.set('database', 'ContainerCreating');
    await steps(world, 3);
    world.now += 3_600_000;
    await steps(world, 2);
    expect(world.status.failedRevision).toBeUndefined();
    expect([world.status.deploymentStatus, world.condition('Progressing')]).toEqual([
      'AWAITING_DATABASE',
      'True AwaitingDataServices',
    ]);
  });
});

test('a desired revision that is not built yet does not change the active one', async () => {
  const web = { source: 'git_host', components: { api: scaled(2, 2) } };
  const world = await settled(spec('web:1', 1, web));
  const before = template(world, 'api');
  const { revision } = spec('web:2', 2);
  const { image: _, ...toBuild } = { ...revision };
  // Its secrets may select an external database.
  const next = { ...spec('web:2', 2, web), revision: toBuild, database: { external: true } };
  world.change(next);
  await world.converge();
  expect(template(world, 'api')).toEqual(before);
  expect([world.replicas('api'), world.condition('Serving')]).toEqual([2, 'True Available']);
  expect(world.cluster.get(`StatefulSet/${NAMESPACE}/web-db`)).toBeDefined();
  expect(world.status).toMatchObject({ activeRevision: { number: 1 } });
  world.change({ ...next, revision });
  await world.converge();
  expect([world.images('api'), world.condition('Ready')]).toEqual([['web:2'], 'True Converged']);
});
