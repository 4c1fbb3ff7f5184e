/** Sizes of the database volume: those of the claim, of the volume and of the spec. */
import { describe, expect, test } from 'vitest';
import { sizeToRequest } from '../../../../src/cluster/operator/decide/plan-volume.ts';
import { message, NAMESPACE, revised, settled, steps, type World } from './fixtures.ts';

describe('the size that a claim requests', () => {
  test.each<[string, { requested: string; capacity?: string; bound?: boolean }, string, string | null]>([
    ['growth', { requested: '5Gi', capacity: '5Gi' }, '20Gi', '20Gi'],
    ['growth of a claim that is not bound', { requested: '5Gi', bound: false }, '20Gi', null],
    ['growth within what the volume has already', { requested: '5Gi', capacity: '8Gi' }, '7Gi', null],
    ['growth to exactly what the volume has', { requested: '5Gi', capacity: '8Gi' }, '8Gi', null],
    ['growth beyond what the provider rounded up to', { requested: '5Gi', capacity: '8Gi' }, '9Gi', '9Gi'],
    ['less than an unfinished expansion', { requested: '20Gi', capacity: '5Gi' }, '10Gi', '10Gi'],
    ['still less', { requested: '10Gi', capacity: '5Gi' }, '6Gi', '6Gi'],
    ['exactly the capacity, which Kubernetes refuses', { requested: '10Gi', capacity: '5Gi' }, '5Gi', null],
    ['exactly the capacity, in bytes', { requested: '10Gi', capacity: '5368709120' }, '5Gi', null],
    ['a little more than an odd capacity', { requested: '10Gi', capacity: '5G' }, '5Gi', '5Gi'],
    ['a little less than an odd capacity', { requested: '10Gi', capacity: '5368709121' }, '5Gi', null],
    ['below the capacity', { requested: '10Gi', capacity: '5Gi' }, '4Gi', null],
    ['less than a volume that has grown', { requested: '20Gi', capacity: '20Gi' }, '10Gi', null],
    ['the same', { requested: '5Gi', capacity: '5Gi' }, '5Gi', null],
    ['the same in another notation', { requested: '5Gi', capacity: '5Gi' }, '5120Mi', null],
    ['a capacity that is not known', { requested: '20Gi' }, '10Gi', null],
    ['what is no quantity', { requested: '5Gi', capacity: '5Gi' }, 'much', null],
  ])('%s', (_, { bound = true, ...sizes }, wanted, expected) => {
    const volume = { ...sizes, bound, resizing: false, takenBack: false };
    expect(sizeToRequest(volume, wanted)).toBe(expected);
  });
});

const wanting = (world: World, storage: string) =>
  world.change({ ...revised('web:1', 1), database: { storage } });
const requested = (world: World) => {
  const claim = world.cluster.get(`PersistentVolumeClaim/${NAMESPACE}/web-db`);
  const spec = claim?.['spec'] as { resources: { requests: { storage: string } } } | undefined;
  return spec?.resources.requests.storage;
};

describe('an unfinished expansion', () => {
  test('follows the spec down to the capacity, where it is no longer a failure, and up again', async () => {
    const world = await settled({ ...revised('web:1', 1), database: { storage: '5Gi' } });
    world.cluster.capacity = '5Gi';
    wanting(world, '20Gi');
    await steps(world, 3);
    expect([requested(world), world.condition('Ready')]).toEqual(['20Gi', 'False VolumeResizing']);
    expect(world.status.volume).toEqual({ requested: '20Gi', capacity: '5Gi' });
    wanting(world, '10Gi');
    await steps(world, 3);
    expect([requested(world), world.condition('Ready')]).toEqual(['10Gi', 'False VolumeResizing']);
    wanting(world, '5Gi');
    await steps(world, 3);
    expect([requested(world), world.condition('Ready')]).toEqual(['10Gi', 'True Converged']);
    expect(message(world, 'DatabaseReady')).toMatch(/has the 5Gi that are wanted.*still asks for 10Gi/);
    expect(world.status.volume).toEqual({ requested: '10Gi', capacity: '5Gi' });
    expect(await world.reconcileOnce()).toEqual([]);
    wanting(world, '7Gi');
    await steps(world, 3);
    expect([requested(world), world.condition('Ready')]).toEqual(['7Gi', 'False VolumeResizing']);
    world.cluster.capacity = undefined;
    await world.converge();
    expect(world.condition('Ready')).toBe('True Converged');
  });

  test('leaves a volume larger than desired, which is reported, when it succeeds after it was reverted', async () => {
    const world = await settled({ ...revised('web:1', 1), database: { storage: '5Gi' } });
    world.cluster.capacity = '5Gi';
    wanting(world, '20Gi');
    await steps(world, 3);
    wanting(world, '5Gi');
    await steps(world, 2);
    world.cluster.capacity = undefined;
    await world.converge();
    expect([requested(world), world.condition('Ready')]).toEqual(['20Gi', 'True Converged']);
    expect(message(world, 'DatabaseReady')).toContain('has 20Gi, more than the 5Gi that are wanted');
    expect(world.status.volume).toEqual({ requested: '20Gi', capacity: '20Gi', former: '5Gi' });
  });

  test('is reported when this cluster cannot lower it, and the capacity stays an allowed size', async () => {
    const world = await settled({ ...revised('web:1', 1), database: { storage: '5Gi' } });
    world.cluster.capacity = '5Gi';
    wanting(world, '20Gi');
    await steps(world, 3);
    world.cluster.faults = Array.from({ length: 9 }, () => ({
      when: ({ verb, id }: { verb: string; id: string }) =>
        verb === 'patch' && id === 'PersistentVolumeClaim/web-db',
      error: 'invalid' as const,
      message: 'field can not be less than previous value',
    }));
    wanting(world, '10Gi');
    await steps(world, 2);
    expect(world.condition('Ready')).toBe('False Refused');
    expect(message(world, 'Ready')).toContain('its claim cannot be lowered from 20Gi to 10Gi');
    wanting(world, '5Gi');
    await steps(world, 2);
    expect(world.condition('Ready')).toBe('True Converged');
  });
});

test('returns to the former size after a rejected expansion of a volume that the provider rounded up', async () => {
  const world = await settled({ ...revised('web:1', 1), database: { storage: '5Gi' } });
  world.cluster.capacity = '8Gi';
  world.cluster.settle();
  world.cluster.faults = Array.from({ length: 9 }, () => ({
    when: ({ verb, id }: { verb: string; id: string }) =>
      verb === 'patch' && id === 'PersistentVolumeClaim/web-db',
    error: 'forbidden' as const,
    message: 'the storageclass that provisions the pvc must support resize',
  }));
  wanting(world, '20Gi');
  await steps(world, 2);
  expect(world.condition('Ready')).toBe('False VolumeNotExpandable');
  wanting(world, '8Gi');
  await steps(world, 2);
  expect([requested(world), world.condition('Ready')]).toEqual(['5Gi', 'True Converged']);
});

test('a claim that the cluster rejects has no volume that could shrink', async () => {
  const { World } = await import('./fixtures.ts');
  const world = new World({ ...revised('web:1', 1), database: { storage: '1000Gi' } });
  world.cluster.faults = Array.from({ length: 9 }, () => ({
    when: ({ verb, id }: { verb: string; id: string }) =>
      verb === 'create' && id === 'PersistentVolumeClaim/web-db',
    error: 'forbidden' as const,
    message: 'exceeded quota: q, requested: requests.storage=1000Gi',
  }));
  await steps(world, 3);
  expect(world.status.volume).toEqual({ requested: '0', capacity: '0' });
  world.cluster.faults = [];
  wanting(world, '5Gi');
  await world.converge();
  expect([requested(world), world.condition('Ready')]).toEqual(['5Gi', 'True Converged']);
});

describe('a claim without a volume', () => {
  const unbound = async (claim: object) => {
    const { World } = await import('./fixtures.ts');
    const world = new World({ ...revised('web:1', 1), database: { storage: '20Gi' } });
    await steps(world, 2);
    world.cluster.edit(`PersistentVolumeClaim/${NAMESPACE}/web-db`, (object) => {
      Object.assign(object['spec'] as object, (claim as { spec?: object }).spec);
      object['status'] = (claim as { status?: object }).status;
    });
    await steps(world, 1);
    return world;
  };

  test.each([
    ['new', {}],
    ['Pending', { status: { phase: 'Pending' } }],
  ])('%s: it has no capacity, so that any lower size is accepted', async (_, claim) => {
    const world = await unbound(claim);
    expect(world.status.volume).toEqual({ requested: '20Gi', capacity: '0' });
    await world.converge();
    expect(world.status.volume).toEqual({ requested: '20Gi', capacity: '20Gi' });
  });

  test.each([
    ['with a chosen PersistentVolume', { spec: { volumeName: 'pv-1' }, status: { phase: 'Pending' } }],
    ['with a lost PersistentVolume', { spec: { volumeName: 'pv-1' }, status: { phase: 'Lost' } }],
  ])('%s: its capacity is not known', async (_, claim) => {
    expect((await unbound(claim)).status.volume).toBeUndefined();
  });
});

describe('a volume that the storage system has rounded up', () => {
  test('allows the former size again until it has grown', async () => {
    const world = await settled({ ...revised('web:1', 1), database: { storage: '5Gi' } });
    world.cluster.capacity = '8Gi';
    world.cluster.settle();
    await steps(world, 1);
    expect(world.status.volume).toEqual({ requested: '5Gi', capacity: '8Gi', former: '5Gi' });
    wanting(world, '20Gi');
    await steps(world, 3);
    expect(world.status.volume).toEqual({ requested: '20Gi', capacity: '8Gi', former: '5Gi' });
    wanting(world, '5Gi');
    await steps(world, 2);
    expect([requested(world), world.condition('Ready')]).toEqual(['20Gi', 'True Converged']);
    expect(message(world, 'DatabaseReady')).toMatch(/has 8Gi, more than the 5Gi.*still asks for 20Gi/);
    wanting(world, '20Gi');
    await steps(world, 2);
    world.cluster.capacity = '20Gi';
    await world.converge();
    expect(world.status.volume).toEqual({ requested: '20Gi', capacity: '20Gi' });
  });
});
