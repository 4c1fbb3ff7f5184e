/** Sizes of the database volume: those of the claim, of the volume and of the spec. */
import { describe, expect, test } from 'vitest';
import { sizeToRequest } from '../../../../src/cluster/operator/decide/plan-volume.ts';
import { message, NAMESPACE, revised, settled, steps, type World } from './fixtures.ts';

describe('the size that a claim requests', () => {
  test.each<[string, { requested: string; capacity?: string; bound?: boolean }, string, string | null]>([
    ['grows with the spec', { requested: '5Gi', capacity: '5Gi' }, '20Gi', '20Gi'],
    ['does not grow while the claim is not bound', { requested: '5Gi', bound: false }, '20Gi', null],
    ['does not grow within the capacity', { requested: '5Gi', capacity: '8Gi' }, '7Gi', null],
    ['does not grow to exactly the capacity', { requested: '5Gi', capacity: '8Gi' }, '8Gi', null],
    [
      'grows beyond the capacity that the provider rounded up to',
      { requested: '5Gi', capacity: '8Gi' },
      '9Gi',
      '9Gi',
    ],
    ['shrinks while an expansion is unfinished', { requested: '20Gi', capacity: '5Gi' }, '10Gi', '10Gi'],
    ['shrinks again while an expansion is unfinished', { requested: '10Gi', capacity: '5Gi' }, '6Gi', '6Gi'],
    [
      'does not shrink to exactly the capacity, which Kubernetes rejects',
      { requested: '10Gi', capacity: '5Gi' },
      '5Gi',
      null,
    ],
    [
      'does not shrink to exactly the capacity in bytes',
      { requested: '10Gi', capacity: '5368709120' },
      '5Gi',
      null,
    ],
    ['shrinks to a little more than an odd capacity', { requested: '10Gi', capacity: '5G' }, '5Gi', '5Gi'],
    [
      'does not shrink to a little less than an odd capacity',
      { requested: '10Gi', capacity: '5368709121' },
      '5Gi',
      null,
    ],
    ['does not shrink below the capacity', { requested: '10Gi', capacity: '5Gi' }, '4Gi', null],
    ['does not shrink once the volume has grown', { requested: '20Gi', capacity: '20Gi' }, '10Gi', null],
    ['does not change when the spec is the same', { requested: '5Gi', capacity: '5Gi' }, '5Gi', null],
    [
      'does not change when the spec has another notation',
      { requested: '5Gi', capacity: '5Gi' },
      '5120Mi',
      null,
    ],
    ['does not shrink when the capacity is unknown', { requested: '20Gi' }, '10Gi', null],
    ['does not change when the spec is not a quantity', { requested: '5Gi', capacity: '5Gi' }, 'much', null],
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
    expect(message(world, 'DatabaseReady')).toMatch(/has the requested 5Gi.*still requests 10Gi/);
    expect(world.status.volume).toEqual({ requested: '10Gi', capacity: '5Gi' });
    expect(await world.reconcileOnce()).toEqual([]);
    wanting(world, '7Gi');
    await steps(world, 3);
    expect([requested(world), world.condition('Ready')]).toEqual(['7Gi', 'False VolumeResizing']);
    world.cluster.capacity = undefined;
    await world.converge();
    expect(world.condition('Ready')).toBe('True Converged');
  });

  test('leaves a larger volume, which is reported, when it succeeds after the spec was reverted', async () => {
    const world = await settled({ ...revised('web:1', 1), database: { storage: '5Gi' } });
    world.cluster.capacity = '5Gi';
    wanting(world, '20Gi');
    await steps(world, 3);
    wanting(world, '5Gi');
    await steps(world, 2);
    world.cluster.capacity = undefined;
    await world.converge();
    expect([requested(world), world.condition('Ready')]).toEqual(['20Gi', 'True Converged']);
    expect(message(world, 'DatabaseReady')).toContain('has 20Gi, more than the requested 5Gi');
    expect(world.status.volume).toEqual({ requested: '20Gi', capacity: '20Gi', former: '5Gi' });
  });

  test('is reported when the cluster cannot lower it, and the capacity stays an allowed size', async () => {
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

test('a volume that the provider rounded up returns to its former size after a rejected expansion', async () => {
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
  ])('has the capacity 0 when it is %s, so that any lower size is accepted', async (_, claim) => {
    const world = await unbound(claim);
    expect(world.status.volume).toEqual({ requested: '20Gi', capacity: '0' });
    await world.converge();
    expect(world.status.volume).toEqual({ requested: '20Gi', capacity: '20Gi' });
  });

  test.each([
    ['a chosen PersistentVolume', { spec: { volumeName: 'pv-1' }, status: { phase: 'Pending' } }],
    ['a lost PersistentVolume', { spec: { volumeName: 'pv-1' }, status: { phase: 'Lost' } }],
  ])('has no known capacity when it has %s', async (_, claim) => {
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
    expect(message(world, 'DatabaseReady')).toMatch(
      /has 8Gi, more than the requested 5Gi.*still requests 20Gi/,
    );
    wanting(world, '20Gi');
    await steps(world, 2);
    world.cluster.capacity = '20Gi';
    await world.converge();
    expect(world.status.volume).toEqual({ requested: '20Gi', capacity: '20Gi' });
  });
});
