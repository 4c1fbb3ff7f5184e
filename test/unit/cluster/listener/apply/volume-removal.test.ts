import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { ReflectorHandlers } from '../../../../../src/cluster/kube/cache/reflector.ts';
import { ResourceLocks } from '../../../../../src/cluster/listener/apply/resource-locks.ts';
import {
  isVolumeToRemove,
  removeConfirmedVolumes,
} from '../../../../../src/cluster/listener/apply/volume-removal.ts';
import { type Resource, specHashOf } from '../../../../../src/cluster/listener/resource-view.ts';
import { HubError } from '../../../../../src/cluster/listener/session/hub-client.ts';
import type { VolumeRemovalRequest } from '../../../../../src/contract/protocol/removal-protocol.ts';
import { NOTHING_HERE } from '../../../../../src/contract/protocol/work-protocol.ts';
import { ANNOTATIONS } from '../../../../../src/contract/resource/names.ts';
import { FakeClock, recordingLogger } from '../../kube/support.ts';
import { FakeCluster, fakeTerm, hub404, NAME, NAMESPACE, OURS, settle, specOf } from '../fixtures.ts';

const CLAIM = `${NAME}-db`;
const CONFIRMED = { database: { enabled: false, removeVolume: true } };

let cluster: FakeCluster;
let clock: FakeClock;
let term: ReturnType<typeof fakeTerm>;
let handlers: ReflectorHandlers<Resource>;
let current: Resource | undefined;
/** What the API server has; undefined: the same as the cache. */
let live: Resource | undefined;
let locks: ResourceLocks;
/** The calls of the hub, and its answers. */
let asked: VolumeRemovalRequest[];
let answer: (request: VolumeRemovalRequest) => boolean | Promise<never>;
let ending: AbortController;
let running: Promise<void>;

function claim(labels: Record<string, string> = OURS): string {
  const object = { apiVersion: 'v1', kind: 'PersistentVolumeClaim' };
  const { uid } = cluster.put({
    ...object,
    metadata: { name: CLAIM, namespace: NAMESPACE, labels },
  }).metadata;
  return uid ?? '';
}

interface State {
  readonly spec?: object;
  readonly unused?: boolean;
  readonly observedGeneration?: number;
  readonly edited?: boolean;
  readonly uid?: string;
  /** Whether the operator reports a kept volume. Default: true. */
  readonly kept?: boolean;
  /** The claim to which the confirmation applies. Default: the reported claim. */
  readonly confirmed?: string;
}

/** A resource whose spec the hub wrote and for which the operator has reported the kept volume. */
function resource({
  spec = CONFIRMED,
  unused = true,
  observedGeneration = 1,
  edited,
  kept = true,
  uid = 'u',
  confirmed = uid,
}: State = {}) {
  const made = {
    apiVersion: 'berth.dev/v1alpha1',
    kind: 'ManagedDeployment',
    metadata: { name: NAME, namespace: NAMESPACE, generation: 1, annotations: {} as Record<string, string> },
    spec: specOf(1, spec),
    status: {
      observedGeneration,
      ...(kept ? { keptVolume: { name: CLAIM, uid, size: '10Gi', unused } } : {}),
    },
  } as unknown as Resource;
  const hash = edited === true ? 'another' : specHashOf(made);
  Object.assign(made.metadata, {
    annotations: { [ANNOTATIONS.specHash]: hash, [ANNOTATIONS.claimToRemove]: confirmed },
  });
  return made;
}

async function show(state: State): Promise<void> {
  current = resource(state);
  handlers.updated?.(current, current);
  await settle();
}
const isThere = () => cluster.get('PersistentVolumeClaim', CLAIM) !== undefined;

beforeEach(async () => {
  cluster = new FakeCluster();
  clock = new FakeClock();
  term = fakeTerm();
  ending = new AbortController();
  current = undefined;
  live = undefined;
  locks = new ResourceLocks();
  asked = [];
  answer = ({ claim }) => claim === 'unused';
  running = removeConfirmedVolumes({
    client: cluster.client,
    view: {
      get: () => current,
      refresh: async () => live ?? current,
      addHandlers: (given) => {
        handlers = given;
        return () => {};
      },
    },
    hub: {
      volumeRemoval: async (request) => {
        asked.push(request);
        return { permitted: await answer(request) };
      },
    },
    locks,
    term,
    logger: recordingLogger(),
    clock,
    signal: ending.signal,
    abort: new AbortController().signal,
  });
  await settle();
});
afterEach(async () => {
  ending.abort();
  await running;
});

describe('the volume of a database', () => {
  test('is deleted once when its owner has confirmed it and nothing uses it', async () => {
    const uid = claim();
    await show({ uid });
    expect(isThere()).toBe(false);
    await show({ uid });
    expect(cluster.writes()).toEqual([`delete PersistentVolumeClaim ${CLAIM}`]);
  });

  test('is deleted only after the hub has permitted it for this claim and this generation', async () => {
    const uid = claim();
    let isThereBefore = false;
    answer = () => {
      isThereBefore = isThere();
      return true;
    };
    await show({ uid });
    expect(asked).toEqual([
      expect.objectContaining({ epoch: 3, generation: 1, claim_uid: uid, claim: 'unused' }),
    ]);
    expect(isThereBefore).toBe(true);
    expect(isThere()).toBe(false);
  });

  test('stays when the hub does not permit the removal', async () => {
    const uid = claim();
    answer = () => false;
    await show({ uid });
    expect(asked).toHaveLength(1);
    expect(isThere()).toBe(true);
    expect(cluster.writes()).toEqual([]);
  });

  test('stays when the hub does not answer, and is deleted when it answers', async () => {
    const uid = claim();
    answer = () => Promise.reject(new HubError('unavailable', 'no response'));
    await show({ uid });
    expect(isThere()).toBe(true);
    answer = () => true;
    clock.advance(60_000);
    await settle();
    expect(isThere()).toBe(false);
  });

  test('stays when the hub has an earlier version, and asks again after an upgrade', async () => {
    const uid = claim();
    const older = await hub404(JSON.stringify({ detail: NOTHING_HERE }));
    answer = () => Promise.reject(older);
    await show({ uid });
    clock.advance(60_000);
    await settle();
    expect(asked).toHaveLength(1);
    expect(isThere()).toBe(true);
    answer = () => true;
    clock.advance(600_000);
    await settle();
    expect(isThere()).toBe(false);
  });

  test('ends the term when another listener has the lease', async () => {
    const uid = claim();
    answer = () => Promise.reject(new HubError('conflict', 'epoch 3 is not the current epoch 4', 409));
    await show({ uid });
    expect(term.endedBecause).toContain('epoch');
    expect(isThere()).toBe(true);
  });

  test('stays when the term ends while the hub answers', async () => {
    const uid = claim();
    answer = () => {
      term.lose();
      return true;
    };
    await show({ uid });
    expect(isThere()).toBe(true);
  });

  test('stays when it is another volume than the operator has seen, or does not belong to the deployment', async () => {
    claim();
    await show({ uid: 'former' });
    expect(isThere()).toBe(true);
    cluster.remove('PersistentVolumeClaim', CLAIM);
    const uid = claim({ 'berth.dev/deployment-id': OURS['berth.dev/deployment-id'] ?? '' });
    await show({ uid });
    expect(isThere()).toBe(true);
  });

  test('stays when it was restored after the confirmation', async () => {
    const former = claim();
    await show({ uid: former });
    expect(isThere()).toBe(false);
    const restored = claim();
    expect(restored).not.toBe(former);
    await show({ uid: restored, confirmed: former });
    expect(isThere()).toBe(true);
    expect(asked.at(-1)).toMatchObject({ claim_uid: former, claim: 'gone' });
  });

  test('is reported as gone when it no longer exists, and not while a finalizer keeps it', async () => {
    const uid = claim();
    await show({ uid });
    await show({ uid, kept: false });
    expect(asked.map(({ claim: state }) => state)).toEqual(['unused', 'gone']);
    const { metadata } = cluster.put({
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: {
        name: CLAIM,
        namespace: NAMESPACE,
        labels: OURS,
        deletionTimestamp: '2026-01-01T00:00:00Z',
      },
    });
    await show({ uid: metadata.uid ?? '', kept: false });
    expect(asked).toHaveLength(2);
  });

  test('stays when the database is switched on while the claim is read', async () => {
    const uid = claim();
    cluster.before = (call) => {
      if (call === 'list PersistentVolumeClaim') live = resource({ uid, spec: {}, observedGeneration: 1 });
    };
    await show({ uid });
    expect(isThere()).toBe(true);
    expect(cluster.writes()).toEqual([]);
  });

  test('stays when a change that is being applied switches the database on', async () => {
    const uid = claim();
    const applying = Promise.withResolvers<void>();
    const applied = locks.run(`${NAMESPACE}/${NAME}`, () => applying.promise);
    await show({ uid });
    expect(isThere()).toBe(true);
    live = resource({ uid, spec: {} });
    applying.resolve();
    await applied;
    await settle();
    expect(isThere()).toBe(true);
  });

  test('is deleted before a later change is applied', async () => {
    const uid = claim();
    let isGoneFirst: boolean | undefined;
    cluster.before = (call) => {
      if (call !== 'delete PersistentVolumeClaim') return;
      void locks.run(`${NAMESPACE}/${NAME}`, async () => {
        isGoneFirst = !isThere();
      });
    };
    await show({ uid });
    expect(isGoneFirst).toBe(true);
  });

  test('stays when its labels change after it was read', async () => {
    const uid = claim();
    cluster.before = (call) => {
      if (call === 'delete PersistentVolumeClaim') claim({});
    };
    await show({ uid });
    expect(isThere()).toBe(true);
  });

  test('stays when the term of the listener has ended', async () => {
    const uid = claim();
    term.lose();
    await show({ uid });
    expect(isThere()).toBe(true);
  });

  test('is deleted by a later attempt when the cluster rejects the first', async () => {
    const uid = claim();
    cluster.failures.set('delete PersistentVolumeClaim', ['forbidden']);
    await show({ uid });
    expect(isThere()).toBe(true);
    for (let attempt = 0; attempt < 5 && isThere(); attempt += 1) {
      clock.advance(60_000);
      await settle();
    }
    expect(isThere()).toBe(false);
  });
});

describe('isVolumeToRemove', () => {
  test.each<[string, boolean, State]>([
    ['everything applies', true, {}],
    ['the removal is not confirmed', false, { spec: { database: { enabled: false } } }],
    ['the database is switched on', false, { spec: { database: { removeVolume: true } } }],
    ['the confirmation applies to another claim', false, { confirmed: 'another' }],
    ['the confirmation applies to no claim', false, { confirmed: 'none' }],
    ['a pod still uses it', false, { unused: false }],
    ['the operator has not observed this spec', false, { observedGeneration: 0 }],
    ['another account has edited the spec', false, { edited: true }],
    [
      'the deployment is being deleted and can be restored',
      false,
      {
        spec: {
          ...CONFIRMED,
          deletion: { requestTime: '2026-01-01T00:00:00Z', restorableUntilTime: '2026-01-02T00:00:00Z' },
        },
      },
    ],
    [
      'the resource belongs to no deployment of the hub',
      false,
      { spec: { ...CONFIRMED, deploymentId: 'x' } },
    ],
  ])('gives its answer when %s: %s', (_what, expected, state) => {
    expect(isVolumeToRemove(resource(state))).toBe(expected);
  });

  test('is false without a kept volume', () => {
    const { status: _, ...without } = resource();
    expect(isVolumeToRemove(without as Resource)).toBe(false);
  });
});
