import { expect, test } from 'vitest';
import { RESOURCE_ID, revised, settled } from './fixtures.ts';

async function leaving() {
  const world = await settled(revised('web:1', 1));
  world.cluster.edit(RESOURCE_ID, ({ metadata }) => {
    metadata.deletionTimestamp = '2026-01-01T01:00:00Z';
  });
  return world;
}

test('of what is being deleted that is told, and nothing else is done', async () => {
  const world = await leaving();
  expect(await world.look()).toEqual(['status ManagedDeployment/web']);
  expect(await world.look()).toEqual([]);
});

test('what holds it is told at once, for nothing follows that would tell it', async () => {
  const world = await leaving();
  const held = (by: string[]) =>
    world.cluster.edit(RESOURCE_ID, ({ metadata }) => {
      metadata.finalizers = by;
    });
  held(['example.com/a', 'example.com/b']);
  await world.look();
  held(['example.com/b']);
  expect(await world.look()).toEqual(['status ManagedDeployment/web']);
  const message = world.status.conditions?.find(({ type }) => type === 'Ready')?.message;
  expect(message).toContain('example.com/b');
  expect(message).not.toContain('example.com/a');
});

test('what the API server takes no status of is left to go, without trying again and again', async () => {
  const world = await leaving();
  world.cluster.faults.push({ when: ({ verb }) => verb === 'status', error: 'invalid' });
  expect(await world.reconcile()).toEqual({ kind: 'settled' });
});

test('another failure of the status is tried again', async () => {
  const world = await leaving();
  world.cluster.faults.push({ when: ({ verb }) => verb === 'status', error: 'server' });
  await expect(world.reconcile()).rejects.toThrow('ManagedDeployment/web');
});
