/** The number of pods during a rollout and after a failure. */
import { describe, expect, test } from 'vitest';
import {
  NAMESPACE,
  type Spec,
  scaled,
  settled,
  revised as spec,
  steps,
  template,
  World,
} from '../fixtures.ts';

const api = (pods: number, poolSize: number, more: object = {}): object => ({
  components: { api: scaled(pods, pods) },
  database: { poolSize },
  ...more,
});

describe('more pods that use fewer connections each', () => {
  test('are not added until the last old pod has ended', async () => {
    const world = await settled(spec('web:1', 1, api(2, 16)));
    const former = template(world, 'api');
    world.change(spec('web:1', 1, api(4, 9)));
    for (let round = 0; round < 5 && template(world, 'api') === former; round += 1)
      await world.reconcileOnce();
    expect([world.replicas('api'), world.condition('Ready')]).toEqual([2, 'False RolloutInProgress']);
    // No pod of the new templates runs yet.
    await world.reconcileOnce();
    expect(world.replicas('api')).toBe(2);
    world.cluster.settle();
    await world.reconcileOnce();
    expect(world.replicas('api')).toBe(4);
    expect(world.condition('Ready')).not.toMatch(/^True/);
    await world.converge();
    expect(world.status.activeRevision?.scales).toEqual({ api: { min: 4, max: 4 } });
    expect(world.condition('Ready')).toBe('True Converged');
  });

  test('are added at once when the database is external', async () => {
    const external = { database: { poolSize: 16, external: true } };
    const world = await settled(spec('web:1', 1, { components: { api: scaled(2, 2) }, ...external }));
    world.change(
      spec('web:1', 1, { components: { api: scaled(4, 4) }, database: { poolSize: 9, external: true } }),
    );
    await steps(world, 2);
    expect(world.replicas('api')).toBe(4);
  });

  test('are added while a component that the spec has removed still runs', async () => {
    const both = { components: { api: scaled(2, 2), queue: scaled(1, 1) }, database: { poolSize: 16 } };
    const world = await settled(spec('web:1', 1, both));
    world.change(spec('web:2', 2, api(4, 9)));
    await world.converge();
    expect([world.replicas('api'), world.replicas('queue')]).toEqual([4, undefined]);
    expect(world.condition('Ready')).toBe('True Converged');
  });
});

test('keeps the number of pods that the own database allows after a failed change to an external database', async () => {
  const world = await settled(spec('web:1', 1, api(2, 16)));
  world.cluster.stuck.set('api', 'InvalidImageName');
  world.change(
    spec('web:2', 2, { components: { api: scaled(6, 6) }, database: { poolSize: 5, external: true } }),
  );
  await steps(world, 4);
  world.cluster.stuck.clear();
  await world.converge();
  expect(world.images('api')).toEqual(['web:1']);
  expect([world.replicas('api'), world.status.activeRevision?.scales]).toEqual([
    2,
    { api: { min: 2, max: 2 } },
  ]);
});

test('keeps a component switched off when the first revision fails', async () => {
  const world = new World(spec('web:1', 1, { components: { api: scaled(2, 2), queue: scaled(0, 0) } }));
  world.cluster.stuck.set('api', 'InvalidImageName');
  await steps(world, 10);
  expect(world.status.failedRevision).toMatchObject({ number: 1 });
  expect([world.replicas('api'), world.replicas('queue')]).toEqual([1, 0]);
});

describe('an init container that does not restart', () => {
  const once: Spec = spec('web:1', 1, {
    podTemplate: { initContainers: [{ name: 'migrate', image: 'web:1', restartPolicy: 'Never' }] },
  });
  let made = 0;

  /** A pod of the Deployment's template that `migrate`, or a node, has ended. */
  function ended(world: World, status: object = {}): void {
    made += 1;
    const { labels } = (template(world, 'api') as { metadata: { labels: object } }).metadata;
    world.cluster.put({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: {
        name: `web-api-ended-${made}`,
        namespace: NAMESPACE,
        labels,
        creationTimestamp: new Date(world.now).toISOString().replace(/\.\d+Z/, 'Z'),
      },
      status: {
        phase: 'Failed',
        initContainerStatuses: [
          { name: 'migrate', restartCount: 0, state: { terminated: { exitCode: 7, reason: 'Error' } } },
        ],
        ...status,
      },
    } as never);
  }

  test('fails the rollout with its third failed pod and is named, and no fourth pod is created', async () => {
    const world = new World(once);
    world.cluster.stuck.set('api', 'PodInitializing');
    await steps(world, 8);
    for (const _ of [1, 2]) ended(world);
    await steps(world, 2);
    expect(world.status.failedRevision).toBeUndefined();
    ended(world);
    await steps(world, 4);
    expect(world.status.failedRevision).toMatchObject({
      reason: 'CrashLoop',
      failureSource: { component: 'api', container: 'migrate', containerKind: 'init', exitCode: 7 },
    });
    expect(world.replicas('api')).toBe(0);
  });

  test('does not fail the rollout when nodes evict pods', async () => {
    const world = new World(once);
    world.cluster.stuck.set('api', 'PodInitializing');
    await steps(world, 8);
    for (const _ of [1, 2, 3, 4]) ended(world, { reason: 'Evicted' });
    await steps(world, 3);
    expect(world.status.failedRevision).toBeUndefined();
  });

  test('does not fail a rollout because of failures before it', async () => {
    const world = await settled(once);
    for (const _ of [1, 2, 3]) ended(world);
    world.now += 60_000;
    world.change(spec('web:2', 2));
    await world.converge();
    world.change(once);
    await world.converge();
    expect(world.status.failedRevision).toBeUndefined();
    expect(world.condition('Ready')).toBe('True Converged');
  });
});
