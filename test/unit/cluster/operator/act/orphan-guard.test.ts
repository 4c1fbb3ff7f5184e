import { describe, expect, test, vi } from 'vitest';
import { KubeError } from '../../../../../src/cluster/kube/client/errors.ts';
import { NAMESPACE, RESOURCE_ID, resource, revised, settled, steps, World } from '../fixtures.ts';
import type { Fault } from '../simulated-cluster.ts';

const SPEC = revised('web:1', 1);
/** Objects without an owner, which no deletion of a resource removes. */
const POSTED = [
  'Secret/web-db-copy',
  'Secret/web-db',
  'PersistentVolumeClaim/web-db',
  'ControllerRevision/web-1',
];
const CLAIM = 'PersistentVolumeClaim/web-db';
const SECRETS = ['Secret/web-db-copy', 'Secret/web-db'];

/** Runs a function once, just before the write is executed. */
function during(world: World, id: string, happens: () => void, fault?: Partial<Fault>): void {
  const [verb, name] = id.includes(' ') ? id.split(' ') : ['create', id];
  let hasHappened = false;
  const when = (write: { verb: string; id: string }) => {
    if (write.verb !== verb || write.id !== name || hasHappened) return false;
    hasHappened = true;
    happens();
    return fault !== undefined;
  };
  world.cluster.faults.push({ when, error: 'server', ...fault });
}

const uidOf = (world: World) => world.cluster.get(RESOURCE_ID)?.metadata.uid;

function makeAgain(world: World): void {
  const again = resource(SPEC);
  world.cluster.put({ ...again, metadata: { ...again.metadata, uid: 'another' } });
}

/** The deployment is deleted while its claim is created: the objects created until then have no owner. */
function deletedMeanwhile(): World {
  const world = new World(SPEC);
  during(world, CLAIM, () => world.cluster.remove(RESOURCE_ID));
  return world;
}

const ownersOf = (world: World, id: string) => {
  const [kind, name] = id.split('/');
  return world.cluster
    .get(`${kind}/${NAMESPACE}/${name}`)
    ?.metadata.ownerReferences?.map(({ kind: owner, uid }) => [owner, uid]);
};

const nameOf = ({ verb, id }: { verb: string; id: string }) => `${verb} ${id}`;

/** The claim as an operator creates it. */
async function settledClaim() {
  const world = await settled(SPEC);
  const claim = world.cluster.get(`PersistentVolumeClaim/${NAMESPACE}/web-db`);
  if (claim === undefined) throw new Error('there is no claim');
  return claim;
}

describe('a POST that is executed after its deployment was deleted', () => {
  test.each(POSTED)(
    'gets the deleted resource as owner for %s, so that the garbage collector removes the object',
    async (id) => {
      const world = new World(SPEC);
      const uid = world.cluster.get(RESOURCE_ID)?.metadata.uid;
      during(world, id, () => world.cluster.remove(RESOURCE_ID));
      // Actions after the POST may find that the resource is gone.
      await steps(world, 3).catch(() => undefined);
      expect(world.cluster.get(RESOURCE_ID)).toBeUndefined();
      expect(ownersOf(world, id)).toEqual([['ManagedDeployment', uid]]);
      expect(await world.reconcileOnce()).toEqual([]);
    },
  );

  test('is checked when a later action has failed', async () => {
    const world = new World(SPEC);
    const uid = world.cluster.get(RESOURCE_ID)?.metadata.uid;
    during(world, 'ControllerRevision/web-1', () => {
      world.cluster.remove(RESOURCE_ID);
      world.cluster.faults.push({ when: ({ verb }) => verb === 'status', error: 'server' });
    });
    await expect(steps(world, 3)).rejects.toThrow('ManagedDeployment');
    expect(ownersOf(world, 'ControllerRevision/web-1')).toEqual([['ManagedDeployment', uid]]);
  });

  test('is kept when the deployment has a new custom resource', async () => {
    const world = new World(SPEC);
    during(world, 'PersistentVolumeClaim/web-db', () => {
      world.cluster.remove(RESOURCE_ID);
      makeAgain(world);
    });
    await world.reconcileOnce();
    expect(ownersOf(world, 'PersistentVolumeClaim/web-db')).toBeUndefined();
    await world.converge();
    expect(world.condition('Ready')).toMatch(/^True/);
  });

  test('is left to the new leader', async () => {
    const world = new World(SPEC);
    during(world, 'PersistentVolumeClaim/web-db', () => {
      world.cluster.remove(RESOURCE_ID);
      world.mayAct = false;
    });
    await expect(world.reconcileOnce()).rejects.toThrow('no longer the leader');
    expect(ownersOf(world, 'PersistentVolumeClaim/web-db')).toBeUndefined();
  });

  test('causes no call when the custom resource exists', async () => {
    const world = new World(SPEC);
    const writes = await world.converge();
    expect(writes.filter((write) => write.startsWith('patch'))).toEqual([]);
    expect(POSTED.map((id) => ownersOf(world, id))).toEqual(POSTED.map(() => undefined));
  });
});

describe('a POST without a response', () => {
  test.each(POSTED)(
    'is searched for, and gets the deleted resource as owner if it created %s',
    async (id) => {
      const world = new World(SPEC);
      const uid = uidOf(world);
      const lost = { error: 'timeout', afterCommit: true } as const;
      during(world, id, () => world.cluster.remove(RESOURCE_ID), lost);
      await steps(world, 3).catch(() => undefined);
      expect(ownersOf(world, id)).toEqual([['ManagedDeployment', uid]]);
    },
  );

  test('causes no write when it was not executed', async () => {
    const world = new World(SPEC);
    during(world, CLAIM, () => world.cluster.remove(RESOURCE_ID), { error: 'network' });
    await world.reconcileOnce().catch(() => undefined);
    expect(world.cluster.get(`PersistentVolumeClaim/${NAMESPACE}/web-db`)).toBeUndefined();
    expect(SECRETS.map((id) => ownersOf(world, id))).toEqual(SECRETS.map(() => [expect.anything()]));
  });

  test('is not confused with a volume that an earlier resource retained', async () => {
    const kept = (await settledClaim()).metadata;
    const world = new World(SPEC);
    during(
      world,
      CLAIM,
      () => {
        world.cluster.remove(RESOURCE_ID);
        const { labels = {}, name, namespace = '' } = kept;
        const metadata = { name, namespace, labels, creationTimestamp: '1969-12-31T00:00:00.000Z' };
        world.cluster.put({ apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata });
      },
      { error: 'network' },
    );
    await world.reconcileOnce().catch(() => undefined);
    expect([CLAIM, ...SECRETS].map((id) => ownersOf(world, id))).toEqual([undefined, undefined, undefined]);
  });

  test('is forgotten when the API server has rejected it', async () => {
    const world = new World(SPEC);
    during(world, CLAIM, () => world.cluster.remove(RESOURCE_ID), { error: 'forbidden' });
    const find = vi.spyOn(world.cluster.client, 'find');
    await world.reconcileOnce().catch(() => undefined);
    expect(find.mock.calls.filter(([{ kind }]) => kind === 'PersistentVolumeClaim')).toEqual([]);
  });
});

describe('the check for orphans', () => {
  test('changes nothing when another resource has adopted the claim', async () => {
    const world = deletedMeanwhile();
    during(world, `patch ${CLAIM}`, () => {
      makeAgain(world);
      world.cluster.edit(`PersistentVolumeClaim/${NAMESPACE}/web-db`, ({ metadata }) => {
        metadata.annotations = { 'pv.kubernetes.io/bind-completed': 'yes' };
      });
    });
    await world.reconcileOnce().catch(() => undefined);
    expect(world.cluster.get(`PersistentVolumeClaim/${NAMESPACE}/web-db`)).toBeDefined();
    expect([CLAIM, ...SECRETS].map((id) => ownersOf(world, id))).toEqual([undefined, undefined, undefined]);
  });

  test('keeps the credentials when the deployment is created again after the claim got its owner', async () => {
    const world = deletedMeanwhile();
    const uid = uidOf(world);
    during(world, `patch ${CLAIM}`, () => makeAgain(world));
    await world.reconcileOnce().catch(() => undefined);
    expect([CLAIM, ...SECRETS].map((id) => ownersOf(world, id))).toEqual([
      [['ManagedDeployment', uid]],
      undefined,
      undefined,
    ]);
  });

  test.each([
    ['before it is executed', false],
    ['and its response is lost', true],
  ])('continues when a write fails %s, with the claim first', async (_when, afterCommit) => {
    const world = deletedMeanwhile();
    const uid = uidOf(world);
    during(world, `patch ${CLAIM}`, () => undefined, { error: 'server', afterCommit });
    const writes = (await world.reconcileOnce().catch(() => world.cluster.writes.map(nameOf))).filter(
      (write) => write.startsWith('patch'),
    );
    expect([CLAIM, ...SECRETS].map((id) => ownersOf(world, id))).toEqual(
      [CLAIM, ...SECRETS].map(() => [['ManagedDeployment', uid]]),
    );
    expect(writes).toEqual([CLAIM, ...SECRETS].map((id) => `patch ${id}`));
  });

  test('continues when the custom resource cannot be read for a while', async () => {
    const world = deletedMeanwhile();
    const uid = uidOf(world);
    const { client } = world.cluster;
    const find = client.find.bind(client);
    let failures = 0;
    vi.spyOn(client, 'find').mockImplementation(async (kind, at, options) => {
      if (world.cluster.get(RESOURCE_ID) === undefined && failures < 2) {
        failures += 1;
        throw new KubeError({ kind: 'server', message: 'etcd has no leader' });
      }
      return await find(kind, at, options);
    });
    await world.reconcileOnce().catch(() => undefined);
    expect(ownersOf(world, CLAIM)).toEqual([['ManagedDeployment', uid]]);
  });

  test('keeps the credentials of a claim whose owner cannot be set, and reports why', async () => {
    const world = deletedMeanwhile();
    during(world, `patch ${CLAIM}`, () => undefined, { error: 'forbidden', message: 'hands off' });
    const outcome = await world.reconcile();
    expect(outcome).toMatchObject({
      kind: 'retry',
      error: { message: expect.stringContaining('hands off') },
    });
    expect([CLAIM, ...SECRETS].map((id) => ownersOf(world, id))).toEqual([undefined, undefined, undefined]);
  });

  test('hides no error of an earlier action', async () => {
    const world = new World(SPEC);
    const { client } = world.cluster;
    const create = client.create.bind(client);
    vi.spyOn(client, 'create').mockImplementation(async (object, options) => {
      if (object.kind !== 'PersistentVolumeClaim') return await create(object, options);
      // The other actions of this stage have begun by then.
      await Promise.resolve();
      world.mayAct = false;
      throw new TypeError('not a function');
    });
    await expect(world.reconcileOnce()).rejects.toThrow('not a function');
  });
});
