import { describe, expect, test } from 'vitest';
import { message, scaled, settled, revised as spec, steps, World } from '../fixtures.ts';

/** When a status is written that says little that is new. */

/** The database starts, and its status has said so once. */
async function starting(): Promise<World> {
  const world = new World(spec('web:1', 1));
  world.cluster.stuck.set('database', 'ContainerCreating');
  await steps(world, 8);
  expect(message(world, 'DatabaseReady')).toMatch(/: ContainerCreating$/);
  return world;
}

const STATUS = 'status ManagedDeployment/web';

describe('a status that differs only in messages', () => {
  test('is written one second after the first change', async () => {
    const world = await starting();
    world.cluster.stuck.set('database', 'PodInitializing');
    world.cluster.settle();
    // A look is asked for when it is due: nothing else may happen until then.
    expect(await world.reconcile()).toEqual({ kind: 'requeue', afterMs: 1_000 });
    world.now += 900;
    expect(await world.reconcileOnce()).toEqual([]);
    world.now += 100;
    expect(await world.reconcileOnce()).toEqual([STATUS]);
    // Of a container that waits for those before it, only the pod's phase says something.
    expect(message(world, 'DatabaseReady')).toMatch(/: Pending$/);
  });

  test('waits again for a second if it returned to the written text in between', async () => {
    const world = await starting();
    for (const word of ['PodInitializing', 'ContainerCreating', 'PodInitializing']) {
      world.cluster.stuck.set('database', word);
      world.cluster.settle();
      expect(await world.reconcileOnce()).toEqual([]);
      world.now += 600;
    }
    expect(await world.reconcileOnce()).toEqual([]);
    world.now += 400;
    expect(await world.reconcileOnce()).toEqual([STATUS]);
  });

  test('is written at once with a change of state', async () => {
    const world = await starting();
    world.cluster.stuck.set('database', 'PodInitializing');
    world.cluster.settle();
    expect(await world.reconcileOnce()).toEqual([]);
    world.cluster.stuck.set('database', 'ErrImagePull');
    world.cluster.settle();
    expect(await world.reconcileOnce()).toEqual([STATUS]);
    expect(world.condition('Ready')).toBe('False ImagePullFailed');
  });
});

test('writes changed pod counts one second after the first change', async () => {
  const two = { components: { api: scaled(2, 2) } };
  const world = await settled(spec('web:1', 1, two));
  const before = world.status;
  expect(before.components).toMatchObject([{ name: 'api', ready: 2 }]);
  world.cluster.edit('Deployment/shop/web-api', (object) => {
    object['status'] = { ...(object['status'] as object), readyReplicas: 1 };
  });
  expect(await world.reconcileOnce()).toEqual([]);
  world.now += 900;
  expect(await world.reconcileOnce()).toEqual([]);
  world.now += 100;
  expect(await world.reconcileOnce()).toEqual([STATUS]);
  expect(world.status).toEqual({
    ...before,
    components: [expect.objectContaining({ name: 'api', ready: 1 })],
  });
});
