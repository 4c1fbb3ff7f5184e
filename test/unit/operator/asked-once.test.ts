/** What a creation reads from the server itself, and when that has to be read again. */
import { describe, expect, test } from 'vitest';
import { NAMESPACE, RESOURCE_ID, resource, revised, World } from './fixtures.ts';

const SPEC = revised('web:1', 1, { suspend: true });
const PARENT = 'ManagedDeployment/web';

/** Whatever is read of the server from now on: `Secret/web-db`. */
function readsOf(world: World): string[] {
  const reads: string[] = [];
  const { find } = world.cluster.client;
  world.cluster.client.find = (resource, at, options) => {
    reads.push(`${resource.kind}/${at.name}`);
    return find(resource, at, options);
  };
  return reads;
}

function passwordOf(world: World, name: string): string | undefined {
  const secret = world.cluster.get(`Secret/${NAMESPACE}/${name}`);
  return (secret?.['data'] as { password?: string } | undefined)?.password;
}

/** Looks until all is there but the witness of the Secrets, which comes with the look after that. */
async function untilWitness(world: World): Promise<void> {
  await world.look();
  world.cluster.settle();
}

describe('the custom resource', () => {
  test('is read once for a creation: the write of its status says that it is there, and the next look comes soon', async () => {
    const world = new World(SPEC);
    const reads = readsOf(world);
    await untilWitness(world);
    expect(reads.filter((read) => read === PARENT)).toEqual([PARENT]);
    world.now += 1_900;
    expect(await world.look()).toContainEqual(
      expect.stringContaining('create ControllerRevision/web-secrets'),
    );
    expect(reads.filter((read) => read === PARENT)).toEqual([PARENT]);
  });

  test('is read again when the server has not told of it for two seconds', async () => {
    const world = new World(SPEC);
    const reads = readsOf(world);
    await untilWitness(world);
    world.now += 2_001;
    await world.look();
    expect(reads.filter((read) => read === PARENT)).toEqual([PARENT, PARENT]);
  });

  test('is read again for another generation of it', async () => {
    const world = new World(SPEC);
    const reads = readsOf(world);
    await untilWitness(world);
    world.change(revised('web:2', 2, { suspend: true }));
    await world.look();
    expect(reads.filter((read) => read === PARENT)).toEqual([PARENT, PARENT]);
  });

  test('is read again for another one of its name', async () => {
    const world = new World(SPEC);
    const reads = readsOf(world);
    await untilWitness(world);
    world.cluster.remove(RESOURCE_ID);
    const again = resource(SPEC);
    world.cluster.put({ ...again, metadata: { ...again.metadata, uid: 'another' } });
    await world.look();
    expect(reads.filter((read) => read === PARENT)).toEqual([PARENT, PARENT]);
  });

  test('is read again by another process', async () => {
    const world = new World(SPEC);
    const reads = readsOf(world);
    await untilWitness(world);
    world.restart();
    await world.look();
    expect(reads.filter((read) => read === PARENT)).toEqual([PARENT, PARENT]);
  });
});

describe('credentials of a new volume', () => {
  test('one of the two is read: making the copy tells whether it was there', async () => {
    const world = new World(SPEC);
    const reads = readsOf(world);
    await world.look();
    expect(reads.filter((read) => read.startsWith('Secret'))).toEqual(['Secret/web-db']);
    expect(passwordOf(world, 'web-db')).toMatch(/./);
    expect(passwordOf(world, 'web-db')).toBe(passwordOf(world, 'web-db-copy'));
  });

  test('a copy that an earlier process has left has the password', async () => {
    const before = new World(SPEC);
    await before.look();
    const copy = before.cluster.get(`Secret/${NAMESPACE}/web-db-copy`);
    if (copy === undefined) throw new Error('there is no copy');
    const world = new World(SPEC);
    world.cluster.put(copy);
    await world.converge();
    expect(passwordOf(world, 'web-db-copy')).toBe(passwordOf(before, 'web-db-copy'));
    expect(passwordOf(world, 'web-db')).toBe(passwordOf(before, 'web-db-copy'));
  });

  test('of a copy that is somebody else’s it is told, and nothing is made beside it', async () => {
    const world = new World(SPEC);
    world.cluster.put({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'web-db-copy', namespace: NAMESPACE },
    });
    await world.look();
    expect(world.condition('Ready')).toBe('False Conflict');
    expect(passwordOf(world, 'web-db')).toBeUndefined();
  });

  test('a lost answer is asked for, not sent again', async () => {
    const world = new World(SPEC);
    let lost = false;
    world.cluster.faults.push({
      when: ({ verb, id }) => {
        const isIt = !lost && verb === 'create' && id === 'Secret/web-db-copy';
        lost ||= isIt;
        return isIt;
      },
      error: 'timeout',
      afterCommit: true,
    });
    const writes = await world.converge();
    expect(writes.filter((write) => write === 'create Secret/web-db-copy')).toHaveLength(1);
    expect(passwordOf(world, 'web-db')).toBe(passwordOf(world, 'web-db-copy'));
  });
});
