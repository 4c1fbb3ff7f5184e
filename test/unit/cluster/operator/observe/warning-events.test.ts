import { describe, expect, test } from 'vitest';
import { NAMESPACE, type Spec, settled, World } from '../fixtures.ts';

const spec = (image: string, number: number): Spec => ({
  revision: { id: `0197a000-0000-7000-8000-00000000000${number}`, number, image },
});
const message = (world: World, type: string) =>
  world.status.conditions?.find((condition) => condition.type === type)?.message ?? '';

async function steps(world: World, count: number): Promise<void> {
  for (let step = 0; step < count; step += 1) {
    await world.reconcileOnce();
    world.cluster.settle();
    world.now += 2_000;
  }
}

describe('warning events', () => {
  const uidOf = (world: World, id: string) => world.cluster.get(id)?.metadata.uid ?? '';

  test('are read with a growing pause for a pod that does not start and gives no reason', async () => {
    const world = await settled(spec('web:1', 1));
    world.change(spec('web:2', 2));
    world.cluster.stuck.set('api', 'ContainerCreating');
    await steps(world, 1);
    const event = { reason: 'FailedMount', message: 'MountVolume.SetUp failed: configmap "x" not found' };
    world.cluster.warnings.set(uidOf(world, `Pod/${NAMESPACE}/web-api-0`), event);
    await steps(world, 4);
    expect(message(world, 'Progressing')).toMatch(
      /api: .*pod web-api-0: FailedMount: .*configmap "x" not found/,
    );
    expect(world.condition('Progressing')).toBe('True RolloutInProgress');
    world.now += 600_000;
    await steps(world, 2);
    expect(world.status.failedRevision).toMatchObject({
      reason: 'MountFailed',
      failureSource: { object: 'web-api-0' },
    });
  });

  test('are read for a StatefulSet without a pod and for an unbound claim', async () => {
    const world = new World(spec('web:1', 1));
    await world.reconcileOnce();
    const database = `StatefulSet/${NAMESPACE}/web-db`;
    world.cluster.warnings.set(uidOf(world, database), {
      reason: 'FailedCreate',
      message: 'exceeded quota: small',
    });
    const claim = `PersistentVolumeClaim/${NAMESPACE}/web-db`;
    world.cluster.edit(claim, (object) => {
      object['status'] = { phase: 'Pending' };
    });
    world.cluster.warnings.set(uidOf(world, claim), {
      reason: 'ProvisioningFailed',
      message: 'no such class',
    });
    world.now += 10_000;
    await world.reconcileOnce();
    expect(message(world, 'DatabaseReady')).toBe(
      'the database is not ready yet: FailedCreate: exceeded quota: small; its volume claim web-db is not bound: ProvisioningFailed: no such class',
    );
  });
});
