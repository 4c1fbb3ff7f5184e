/** What the operator reads from the API server before it creates objects, and when it must read that again. */
import { afterEach, describe, expect, test, vi } from 'vitest';
import { KubeError } from '../../../../src/cluster/kube/client/errors.ts';
import type { UntypedObject } from '../../../../src/cluster/kube/client/object.ts';
import { NAMESPACE, revised, World } from './fixtures.ts';

const SPEC = revised('web:1', 1, { suspend: true });
const PARENT = 'ManagedDeployment/web';

/** Records each later read from the API server: `Secret/web-db`. */
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

describe('the custom resource', () => {
  test('is read once by a reconcile that creates an object, because the write of the status confirms that it exists', async () => {
    const world = new World(SPEC);
    const reads = readsOf(world);
    await world.reconcileOnce();
    expect(reads.filter((read) => read === PARENT)).toEqual([PARENT]);
  });

  test('is read again when the write of the status was rejected, because an object without an owner may be an orphan', async () => {
    const world = new World(SPEC);
    const reads = readsOf(world);
    world.cluster.faults.push({ when: ({ verb }) => verb === 'status', error: 'conflict' });
    await world.reconcileOnce();
    expect(reads.filter((read) => read === PARENT)).toEqual([PARENT, PARENT]);
  });

  test('is read again by the next reconcile that creates an object', async () => {
    const world = new World(SPEC);
    await world.converge();
    world.cluster.remove(`Service/${NAMESPACE}/web-db`);
    const reads = readsOf(world);
    expect(await world.reconcileOnce()).toEqual(['create Service/web-db']);
    expect(reads.filter((read) => read === PARENT)).toEqual([PARENT]);
  });

  test('is not read when there is nothing to do, even after a start of the operator', async () => {
    const world = new World(SPEC);
    await world.converge();
    world.restart();
    const reads = readsOf(world);
    expect(await world.reconcileOnce()).toEqual([]);
    expect(reads).toEqual([]);
  });

  /** The first call of the next reconcile. */
  async function firstOf(world: World): Promise<'asks' | 'decides' | undefined> {
    const steps: ('asks' | 'decides')[] = [];
    const { find } = world.cluster.client;
    world.cluster.client.find = (resource, at, options) => {
      if (resource.kind === 'ManagedDeployment') steps.push('asks');
      return find(resource, at, options);
    };
    const config = new Proxy(world.config, {
      get: (target, field) => {
        steps.push('decides');
        return target[field as keyof typeof target];
      },
    });
    world.restart(config);
    steps.length = 0;
    await world.reconcileOnce();
    return steps[0];
  }

  test('is read before the decision when there is no status yet, and otherwise only when an object is created', async () => {
    const world = new World(SPEC);
    expect(await firstOf(world)).toBe('asks');
    expect(await firstOf(world)).toBe('decides');
  });

  test('is not read when it is paused from the start', async () => {
    const world = new World(SPEC);
    world.cluster.edit(`ManagedDeployment/${NAMESPACE}/web`, ({ metadata }) => {
      metadata.annotations = { 'berth.dev/paused': 'true' };
    });
    const reads = readsOf(world);
    await world.reconcileOnce();
    expect(reads).toEqual(['Secret/web-identity']);
  });

  test.each([
    ['gone', () => undefined],
    ['replaced', (live: UntypedObject) => ({ ...live, metadata: { ...live.metadata, uid: 'another' } })],
    ['changed', (live: UntypedObject) => ({ ...live, metadata: { ...live.metadata, generation: 7 } })],
  ])('causes no creation when the read finds it %s', async (_, now) => {
    const world = new World(SPEC);
    const { find } = world.cluster.client;
    world.cluster.client.find = (async (...call: Parameters<typeof find>) => {
      const found = await find(...call);
      return call[0].kind === 'ManagedDeployment' && found !== undefined
        ? now(found as UntypedObject)
        : found;
    }) as typeof find;
    expect(await world.reconcileOnce()).toEqual([]);
  });

  test('is read again by the next reconcile when the API server did not respond', async () => {
    const world = new World(SPEC);
    const { find } = world.cluster.client;
    let failures = 1;
    world.cluster.client.find = async (resource, at, options) => {
      if (resource.kind === 'ManagedDeployment' && failures > 0) {
        failures -= 1;
        throw new KubeError({ kind: 'server', message: 'failed to get: out of order' });
      }
      return await find(resource, at, options);
    };
    await expect(world.reconcileOnce()).rejects.toThrow('out of order');
    expect(await world.reconcileOnce()).toContain('create Secret/web-db');
  });
});

describe('credentials that were just created', () => {
  afterEach(() => {
    vi.restoreAllMocks();
  });

  const MINUTE_MS = 60_000;

  /** The reads of the reconcile that creates the sentinel, this long after the one that created the credentials. */
  async function readLater(minutes: number): Promise<string[]> {
    const world = new World(SPEC);
    await world.reconcileOnce();
    world.cluster.settle();
    const reads = readsOf(world);
    const later = performance.now() + minutes * MINUTE_MS;
    vi.spyOn(performance, 'now').mockReturnValue(later);
    expect(await world.reconcileOnce()).toContainEqual(
      expect.stringContaining('create ControllerRevision/web-secrets'),
    );
    return reads;
  }

  test('are not read again before the sentinel is created, which needs no read of the custom resource', async () => {
    expect(await readLater(5)).toEqual([]);
  });

  test('are read together with the custom resource when they were created long ago, because one may be missing', async () => {
    expect(await readLater(20)).toEqual([PARENT, 'Secret/web-db', 'Secret/web-db-copy']);
  });
});

describe('a sentinel', () => {
  /** Reconciles until the sentinel of an application with an environment is created. @returns the outcome */
  async function reconcileUntilSentinel(world: World) {
    for (let round = 0; round < 20; round += 1) {
      const outcome = await world.reconcile();
      const made = world.cluster.writes.some(({ id }) => id.startsWith('ControllerRevision/web-secrets'));
      if (made) return outcome;
      world.cluster.settle();
      world.now += 2_000;
    }
    throw new Error('no sentinel was created');
  }

  test.each([
    ['switched off', SPEC],
    ['running', revised('web:1', 1)],
  ])('needs no further reconcile when it is the first of a deployment that is %s', async (_, spec) => {
    const world = new World(spec);
    expect(await reconcileUntilSentinel(world)).toEqual({ kind: 'settled' });
    world.cluster.settle();
    expect(await world.reconcileOnce()).toEqual([]);
  });

  test('requeues when it replaces another sentinel, which is then removed', async () => {
    const world = new World(SPEC);
    await world.converge();
    const [before] = world.cluster.list('ControllerRevision');
    const environment = { name: 'web-env-1', namespace: NAMESPACE };
    world.cluster.put({ apiVersion: 'v1', kind: 'Secret', metadata: environment });
    world.change({ ...SPEC, revision: { ...SPEC.revision, envSecretName: environment.name } });
    world.cluster.writes = [];
    expect(await reconcileUntilSentinel(world)).toMatchObject({ kind: 'requeue' });
    expect(await world.reconcileOnce()).toEqual([`delete ControllerRevision/${before?.metadata.name}`]);
  });
});

describe('the creation of credentials for a new volume', () => {
  test('reads only one of the two Secrets, because the creation of the copy shows whether it existed', async () => {
    const world = new World(SPEC);
    const reads = readsOf(world);
    await world.reconcileOnce();
    expect(reads.filter((read) => read.startsWith('Secret'))).toEqual([
      'Secret/web-identity',
      'Secret/web-db',
    ]);
    expect(passwordOf(world, 'web-db')).toMatch(/./);
    expect(passwordOf(world, 'web-db')).toBe(passwordOf(world, 'web-db-copy'));
  });

  test('uses the password of a copy that an earlier process has left', async () => {
    const before = new World(SPEC);
    await before.reconcileOnce();
    const copy = before.cluster.get(`Secret/${NAMESPACE}/web-db-copy`);
    if (copy === undefined) throw new Error('there is no copy');
    const world = new World(SPEC);
    world.cluster.put(copy);
    await world.converge();
    expect(passwordOf(world, 'web-db-copy')).toBe(passwordOf(before, 'web-db-copy'));
    expect(passwordOf(world, 'web-db')).toBe(passwordOf(before, 'web-db-copy'));
  });

  test('reports a copy that belongs to others and creates nothing', async () => {
    const world = new World(SPEC);
    world.cluster.put({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'web-db-copy', namespace: NAMESPACE },
    });
    await world.reconcileOnce();
    expect(world.condition('Ready')).toBe('False Conflict');
    expect(passwordOf(world, 'web-db')).toBeUndefined();
  });

  test('reads the Secret after a lost response and does not send it again', async () => {
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
