import { expect, test } from 'vitest';
import { revised, settled, steps, World } from './fixtures.ts';

/** When the wall clock is set back, times in the operator's memory are not delayed. */
const setBack = (world: World) => {
  world.setBackBy = 86_400_000;
};

test('writes a changed message of the status one second later after the clock was set back', async () => {
  const world = new World(revised('web:1', 1));
  world.cluster.stuck.set('database', 'ContainerCreating');
  await steps(world, 8);
  world.cluster.stuck.set('database', 'PodInitializing');
  world.cluster.settle();
  expect(await world.reconcileOnce()).toEqual([]);
  setBack(world);
  expect(await world.reconcile()).toEqual({ kind: 'requeue', afterMs: 1_000 });
  world.now += 1_000;
  expect(await world.reconcileOnce()).toEqual(['status ManagedDeployment/web']);
});

test('retries a rejected write after the clock was set back', async () => {
  const world = new World(revised('web:1', 1));
  world.cluster.faults = [
    { when: ({ verb, id }) => `${verb} ${id}` === 'create Service/web', error: 'forbidden' },
  ];
  await world.reconcileOnce();
  expect(world.cluster.faults).toEqual([]);
  setBack(world);
  expect(await world.reconcile()).toMatchObject({ kind: 'requeue', afterMs: expect.any(Number) });
  expect(await world.reconcileOnce()).not.toContain('create Service/web');
  world.now += 5_000;
  expect(await world.reconcileOnce()).toContain('create Service/web');
});

/** A rollout whose pod does not start for this reason. */
async function waiting(reason: string): Promise<World> {
  const world = await settled(revised('web:1', 1));
  world.change(revised('web:2', 2));
  world.cluster.stuck.set('api', reason);
  await steps(world, 4);
  return world;
}

test('reads Secrets again after the clock was set back', async () => {
  const world = await waiting('CreateContainerConfigError');
  let reads = 0;
  const { find } = world.cluster.client;
  world.cluster.client.find = (resource, at, options) => {
    if (resource.kind === 'Secret') reads += 1;
    return find(resource, at, options);
  };
  setBack(world);
  await world.reconcileOnce();
  expect(reads).toBe(0);
  world.now += 30_000;
  await world.reconcileOnce();
  expect(reads).toBeGreaterThan(0);
});

test('reads Events again after the clock was set back', async () => {
  const world = await waiting('ContainerCreating');
  let asked = 0;
  const { list } = world.cluster.client;
  world.cluster.client.list = (resource, options) => {
    asked += 1;
    return list(resource, options);
  };
  await world.reconcileOnce();
  const before = asked;
  setBack(world);
  await world.reconcileOnce();
  expect(asked).toBe(before);
  world.now += 60_000;
  await world.reconcileOnce();
  expect(asked).toBeGreaterThan(before);
});
