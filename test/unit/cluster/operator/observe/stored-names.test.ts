import { describe, expect, test } from 'vitest';
import {
  hasOtherNames,
  statusToStore,
  withCurrentNames,
} from '../../../../../src/cluster/operator/observe/stored-names.ts';
import type { ObservedResource } from '../../../../../src/cluster/operator/observed.ts';
import { formerSpec } from '../../../../../src/contract/resource/former-names.ts';
import { managedDeploymentSpecSchema } from '../../../../../src/contract/resource/managed-deployment.ts';
import { RESOURCE_ID, revised, settled, steps, type World } from '../fixtures.ts';

const ID = { deploymentId: '0197a000-0000-7000-8000-0000000000aa' };
const SPEC = { ...revised('web:1', 1), ...ID, recordGeneration: 4 };
const metadata = { name: 'web', namespace: 'apps', uid: 'u', resourceVersion: '1', generation: 1 };
const resource = (spec: object, status?: object) =>
  ({
    apiVersion: 'berth.dev/v1alpha1',
    kind: 'ManagedDeployment',
    metadata,
    spec,
    ...(status === undefined ? {} : { status }),
  }) as unknown as ObservedResource;
const former = formerSpec<object>(managedDeploymentSpecSchema.parse(SPEC));
const current = managedDeploymentSpecSchema.parse(SPEC);

/** Stores the resource of a world as the previous version did. */
function asPreviousVersion(world: World): void {
  world.cluster.edit(RESOURCE_ID, (object) => {
    const status = statusToStore(
      { spec: current, storedNames: { spec: 'former', status: 'former' } },
      world.status,
    );
    const { deploymentStatus: _, observedRecordGeneration: __, ...others } = status;
    Object.assign(object, { spec: formerSpec(object['spec']), status: others });
  });
}

describe('a resource that the previous version stored', () => {
  test('is read with the current names, and remembers that its status needs both names', () => {
    const read = withCurrentNames(resource(former, { status: 'READY', observedSpecGeneration: 4 }));
    expect(read.spec).toMatchObject({ recordGeneration: 4 });
    expect(read.status).toEqual({ deploymentStatus: 'READY', observedRecordGeneration: 4 });
    expect(hasOtherNames(read)).toBe(true);
    expect(statusToStore(read, read.status ?? {})).toMatchObject({
      deploymentStatus: 'READY',
      status: 'READY',
      observedRecordGeneration: 4,
      observedSpecGeneration: 4,
    });
    const again = withCurrentNames(resource(former, statusToStore(read, read.status ?? {})));
    expect([again.status, hasOtherNames(again)]).toEqual([read.status, false]);
  });

  test('gets a status with only the current names when the listener has written its spec again', () => {
    const both = { deploymentStatus: 'READY', status: 'READY' };
    const read = withCurrentNames(resource(current, both));
    expect(hasOtherNames(read)).toBe(true);
    expect(statusToStore(read, read.status ?? {})).toEqual({ deploymentStatus: 'READY' });
  });

  test('gets only the current names when it was applied by hand, because no listener reads it', () => {
    const { deploymentId: _, ...byHand } = former as { deploymentId?: string };
    const read = withCurrentNames(resource(byHand, { deploymentStatus: 'READY' }));
    expect([hasOtherNames(read), statusToStore(read, { deploymentStatus: 'READY' })]).toEqual([
      false,
      { deploymentStatus: 'READY' },
    ]);
  });

  test('keeps a status without any renamed field, such as that of a rejected resource', () => {
    const read = withCurrentNames(resource(former, { observedGeneration: 1, conditions: [] }));
    expect(hasOtherNames(read)).toBe(false);
  });

  test('keeps its workloads, its active revision and its generation, and its status is written once', async () => {
    const world = await settled(SPEC);
    const before = world.status;
    asPreviousVersion(world);
    world.restart();
    expect(await world.reconcileOnce()).toEqual(['status ManagedDeployment/web']);
    expect(world.status).toMatchObject({
      deploymentStatus: 'READY',
      activeRevision: before.activeRevision,
      observedRecordGeneration: 4,
      observedSpecGeneration: 4,
    });
    expect(await world.reconcileOnce()).toEqual([]);
  });

  test('is not rolled out again when its last revision has failed', async () => {
    const world = await settled(SPEC);
    world.change({ ...revised('web:2', 2), ...ID, recordGeneration: 5 });
    world.cluster.stuck.set('api', 'InvalidImageName');
    await steps(world, 1);
    await world.reconcileOnce();
    world.cluster.stuck.clear();
    await world.converge();
    const failed = world.status.failedRevision;
    expect([failed?.number, world.condition('Progressing')]).toEqual([2, 'False RolledBack']);
    asPreviousVersion(world);
    world.restart();
    expect(await world.reconcileOnce()).toEqual(['status ManagedDeployment/web']);
    expect(world.status).toMatchObject({ failedRevision: failed, observedRecordGeneration: 4 });
    expect(await world.reconcileOnce()).toEqual([]);
  });
});

test('a status of an operator that found no generation does not count as observed generation 0', () => {
  const read = withCurrentNames(resource(current, { status: 'READY', observedSpecGeneration: 0 }));
  expect(read.status?.observedRecordGeneration).toBe(4);
});

test('a resource of this version is returned unchanged, and the status of the definition counts as none', () => {
  const ready = resource(current, { deploymentStatus: 'READY' });
  expect(withCurrentNames(ready)).toBe(ready);
  expect(withCurrentNames(resource(current, { observedGeneration: -1 }))).not.toHaveProperty('status');
});
