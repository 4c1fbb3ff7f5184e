import { beforeEach, describe, expect, it } from 'vitest';
import { statusError } from '../../../../../src/cluster/kube/client/errors.ts';
import { EnvSecrets } from '../../../../../src/cluster/listener/apply/env-secrets.ts';
import { IdentityRecords } from '../../../../../src/cluster/listener/apply/identity-records.ts';
import { PullSecrets } from '../../../../../src/cluster/listener/apply/pull-secret.ts';
import { pullWork } from '../../../../../src/cluster/listener/apply/puller.ts';
import { ResourceLocks } from '../../../../../src/cluster/listener/apply/resource-locks.ts';
import { TenantNamespaces } from '../../../../../src/cluster/listener/apply/tenant-namespace.ts';
import { WorkTable } from '../../../../../src/cluster/listener/apply/work-table.ts';
import { Outbox } from '../../../../../src/cluster/listener/report/outbox.ts';
import { HubError } from '../../../../../src/cluster/listener/session/hub-client.ts';
import type { ApplyWork, WorkItem } from '../../../../../src/contract/protocol/work-protocol.ts';
import { FakeClock, recordingLogger } from '../../kube/support.ts';
import {
  applyWork,
  FakeCluster,
  fakeTerm,
  ID,
  NAME,
  NAMESPACE,
  OURS,
  purgeWork,
  settle,
  specOf,
} from '../fixtures.ts';

const signal = new AbortController().signal;

function setUp() {
  const cluster = new FakeCluster();
  const { client } = cluster;
  const outbox = new Outbox();
  const term = fakeTerm();
  const clock = new FakeClock();
  const logger = recordingLogger();
  const locks = new ResourceLocks();
  const options = {
    locks,
    deps: {
      client,
      view: cluster.view(),
      secrets: new EnvSecrets({ client, logger }),
      pullSecrets: new PullSecrets(client),
      identities: new IdentityRecords(client),
      namespaces: new TenantNamespaces({ client, podSecurity: 'baseline', quota: null }),
      logger,
    },
    outbox,
    term,
    logger,
    clock,
    random: () => 1,
  };
  const table = new WorkTable(options);
  const reported = () => outbox.draft(100)?.reports ?? [];
  return { cluster, outbox, term, clock, logger, table, reported, options };
}
let t: ReturnType<typeof setUp>;
beforeEach(() => {
  t = setUp();
});

describe('the work table', () => {
  it('applies nothing to a resource while its volume is being removed', async () => {
    const removal = Promise.withResolvers<void>();
    void t.options.locks.run(`${NAMESPACE}/${NAME}`, () => removal.promise);
    t.table.add(applyWork());
    const applied = t.table.reconcile(ID, signal);
    await settle();
    expect(t.cluster.calls).toEqual([]);
    removal.resolve();
    expect(await applied).toEqual({ kind: 'settled' });
    expect(t.cluster.writes()).toEqual([`create ManagedDeployment ${NAME}`]);
  });

  it('reports an applied item with its generation', async () => {
    t.table.add(applyWork({ generation: 3 }));
    expect(await t.table.reconcile(ID, signal)).toEqual({ kind: 'settled' });
    expect(t.reported()).toEqual([{ kind: 'applied', deployment_id: ID, generation: 3 }]);
    expect(t.table.size).toBe(0);
  });

  it('does not report a generation as applied that is older than that of the cluster, and lets the hub compare', async () => {
    t.table.add(applyWork({ generation: 7 }));
    await t.table.reconcile(ID, signal);
    expect(t.reported()).toHaveLength(1);
    const former = new WorkTable({ ...t.options });
    former.add(applyWork({ generation: 4 }));
    expect(await former.reconcile(ID, signal)).toEqual({ kind: 'settled' });
    expect([former.size, t.reported()]).toEqual([0, []]);
    expect([...t.outbox.takeTouched().touched.keys()]).toEqual([`team/${NAME}`]);
    expect(t.cluster.get('ManagedDeployment', NAME)).toMatchObject({ spec: { recordGeneration: 7 } });
  });

  it('keeps the latest item of a deployment, whatever the order of arrival', async () => {
    t.table.add(applyWork({ generation: 3 }));
    t.table.add(applyWork({ generation: 2 }));
    await t.table.reconcile(ID, signal);
    expect(t.reported()).toMatchObject([{ generation: 3 }]);
  });

  it('processes an item that arrives while an older one is processed', async () => {
    t.table.add(applyWork({ generation: 1 }));
    t.cluster.before = () => {
      t.cluster.before = () => {};
      t.table.add(applyWork({ generation: 2 }));
    };
    await t.table.reconcile(ID, signal);
    expect(t.table.size).toBe(1);
    await t.table.reconcile(ID, signal);
    expect(t.cluster.get('ManagedDeployment', NAME)).toMatchObject({ spec: { recordGeneration: 2 } });
  });

  it('replaces an apply by a purge, and does not count waiting as a failure', async () => {
    t.table.add(applyWork());
    await t.table.reconcile(ID, signal);
    t.table.add(purgeWork());
    expect(await t.table.reconcile(ID, signal)).toMatchObject({ kind: 'requeue' });
    t.cluster.remove('ManagedDeployment', NAME);
    await t.table.reconcile(ID, signal);
    expect(t.reported()).toEqual([{ kind: 'purged', deployment_id: ID }]);
  });

  it('reports a retryable or final refusal, and leaves the item to the hub', async () => {
    for (const [failure, retryable] of [
      ['invalid', false],
      ['forbidden', true],
      ['not_found', true],
    ] as const) {
      t.cluster.failures.set('create ManagedDeployment', [failure]);
      t.table.add(applyWork());
      expect(await t.table.reconcile(ID, signal)).toEqual({ kind: 'settled' });
      expect(t.reported()).toMatchObject([{ kind: 'refused', generation: 1, retryable }]);
      expect(t.table.size).toBe(0);
    }
  });

  it('reports that the CRD must be upgraded when the cluster does not know a field', async () => {
    const refused = (action: string, code: number, message: string) =>
      statusError(action, code, { message }, { resource: 'manageddeployments' });
    const texts = [
      refused('create', 400, 'strict decoding error: unknown field "spec.ofTomorrow"'),
      refused(
        'apply',
        500,
        'failed to create typed patch object (a): .spec.ofTomorrow: field not declared in schema',
      ),
    ];
    for (const error of texts) {
      t.cluster.before = () => {
        throw error;
      };
      t.table.add(applyWork());
      await t.table.reconcile(ID, signal);
      expect(t.reported()).toEqual([
        {
          kind: 'refused',
          deployment_id: ID,
          generation: 1,
          reason: 'ApplyRefused',
          retryable: true,
          message:
            'the custom resource definition of the cluster is older than the hub: it lacks spec.ofTomorrow; upgrade it to the version of the hub: helm upgrade with that chart, or kubectl apply --server-side -f crds/',
        },
      ]);
    }
  });

  it('reports a transient failure only after several retries', async () => {
    t.cluster.failures.set('create ManagedDeployment', Array(9).fill('server'));
    t.table.add(applyWork());
    for (let i = 0; i < 3; i += 1) {
      expect((await t.table.reconcile(ID, signal)).kind).toBe('retry');
      t.table.queue.addRateLimited(ID);
    }
    expect(t.reported()).toEqual([]);
    await t.table.reconcile(ID, signal);
    expect(t.reported()).toMatchObject([{ kind: 'refused', reason: 'ReconcileFailed', retryable: true }]);
  });

  it('writes and reports nothing once the term is over', async () => {
    t.table.add(applyWork());
    t.term.lose();
    expect(await t.table.reconcile(ID, signal)).toEqual({ kind: 'settled' });
    expect(t.cluster.writes()).toEqual([]);
    expect(t.reported()).toEqual([]);
  });

  it('treats an item of the same generation as a repair, and checks the environments again', async () => {
    const item = applyWork({
      env_secrets: [{ name: `${NAME}-env-1`, revision_number: 1, revision_id: 'r1', data: { A: '1' } }],
    });
    t.table.add(item);
    await t.table.reconcile(ID, signal);
    t.cluster.remove('Secret', `${NAME}-env-1`);
    t.table.add(item);
    await t.table.reconcile(ID, signal);
    expect(t.cluster.get('Secret', `${NAME}-env-1`)).toBeDefined();
  });
});

describe('the cached state', () => {
  const secret = { name: `${NAME}-env-1`, revision_number: 1, revision_id: 'r1', data: { A: '1' } };
  const status = (reason: string) => ({
    observedRecordGeneration: 1,
    conditions: [
      { type: 'Ready', status: 'False', reason, message: '', lastTransitionTime: '2026-01-01T00:00:00Z' },
    ],
  });
  const put = (more: object) => {
    const resource = t.cluster.get('ManagedDeployment', NAME);
    if (resource !== undefined) t.cluster.put({ ...resource, ...more });
  };

  it('is ignored for Secrets of an earlier term when the operator misses one', async () => {
    const item = applyWork({ env_secrets: [secret] });
    t.table.add(item);
    await t.table.reconcile(ID, signal);
    t.cluster.remove('Secret', secret.name);
    put({ status: status('EnvironmentMissing') });
    const next = new WorkTable(t.options);
    next.add(item);
    await next.reconcile(ID, signal);
    expect(t.cluster.get('Secret', secret.name)).toBeDefined();
  });

  it('is ignored for the status at the hub after a refusal, so that the status is sent again after the apply', async () => {
    t.table.add(applyWork());
    await t.table.reconcile(ID, signal);
    put({ status: status('Reconciling') });
    t.reported();
    for (const failures of [['forbidden'], []] as const) {
      t.cluster.failures.set('apply ManagedDeployment', [...failures]);
      t.table.add(applyWork({ generation: 2 }));
      await t.table.reconcile(ID, signal);
    }
    expect(t.reported().map(({ kind }) => kind)).toEqual(['applied', 'observed']);
    t.table.add(applyWork({ generation: 3 }));
    await t.table.reconcile(ID, signal);
    expect(t.reported().map(({ kind }) => kind)).toEqual(['applied']);
  });
});

describe('the pull loop', () => {
  function pull(answers: (WorkItem[] | Error)[], reachable = () => true) {
    const stopping = new AbortController();
    t.term.lost.addEventListener('abort', () => stopping.abort());
    let asked = 0;
    const limits: number[] = [];
    const hub = {
      work: async ({ limit }: { limit: number }, { signal: gone }: { signal?: AbortSignal } = {}) => {
        asked += 1;
        limits.push(limit);
        const answer = answers.shift();
        if (answer instanceof Error) throw answer;
        if (answer !== undefined) return answer;
        return new Promise<WorkItem[]>((_resolve, reject) =>
          gone?.addEventListener('abort', () => reject(gone.reason)),
        );
      },
    };
    const { term, table, clock, logger } = t;
    const done = pullWork({
      hub,
      term,
      table,
      clock,
      logger,
      random: () => 1,
      isReachable: reachable,
      signal: stopping.signal,
    });
    return { stop: () => stopping.abort(), done, asked: () => asked, limits: () => limits };
  }

  it('fills the table and pulls again', async () => {
    const pulling = pull([[applyWork()], [applyWork({ deployment_id: 'b' })]]);
    await settle();
    expect([t.table.size, pulling.asked()]).toEqual([2, 3]);
    pulling.stop();
    await pulling.done;
  });

  const portion = (prefix: string, more: Partial<ApplyWork> = {}) =>
    Array.from({ length: 16 }, (_, i) => applyWork({ deployment_id: `${prefix}${i}`, ...more }));

  it('pulls no more than can be processed soon, so that the hub’s fair order applies to the rest', async () => {
    const pulling = pull([portion('a'), portion('b'), portion('c'), portion('d')]);
    await settle();
    // Each call asks for all free room, because the hub searches all items for each call.
    expect([t.table.size, pulling.asked(), pulling.limits()]).toEqual([48, 3, [48, 32, 16]]);
    for (let i = 0; i < 15; i += 1) await t.table.reconcile(`a${i}`, signal);
    await settle();
    expect(pulling.asked()).toBe(3);
    await t.table.reconcile('a15', signal);
    await settle();
    expect([t.table.size, pulling.asked()]).toEqual([48, 4]);
    pulling.stop();
    await pulling.done;
  });

  it('pulls smaller portions at intervals, so that another tenant’s item does not wait for a full portion', async () => {
    const pulling = pull([portion('a'), portion('b'), portion('c'), portion('d').slice(0, 4), []]);
    await settle();
    for (let i = 0; i < 4; i += 1) await t.table.reconcile(`a${i}`, signal);
    await settle();
    t.clock.advance(49);
    await settle();
    expect([t.table.busy, pulling.asked()]).toEqual([44, 3]);
    t.clock.advance(1);
    await settle();
    expect([t.table.busy, pulling.limits()]).toEqual([48, [48, 32, 16, 4]]);
    // A small portion, because workers still have enough items and the rest stays in the hub's order.
    t.clock.advance(1000);
    for (const key of ['a4', 'a5', 'a6']) await t.table.reconcile(key, signal);
    await settle();
    expect([t.table.busy, pulling.asked()]).toEqual([45, 4]);
    pulling.stop();
    await pulling.done;
  });

  it('continues while items wait for a retry, up to a limit', async () => {
    t.cluster.failures.set('create ManagedDeployment', Array(400).fill('network'));
    const pulling = pull(Array.from({ length: 20 }, (_, i) => portion(`${i}-`)));
    await settle();
    for (let i = 0; i < 20; i += 1) {
      for (let j = 0; j < 16; j += 1) await t.table.reconcile(`${i}-${j}`, signal);
      await settle();
    }
    expect([t.table.size, t.table.busy, pulling.asked()]).toEqual([192, 0, 12]);
    pulling.stop();
    await pulling.done;
  });

  it('leaves the purges with the most checks to the hub when hanging purges fill the table', async () => {
    const hanging = (id: string) => {
      const name = `shop-${id}`;
      t.cluster.put({
        apiVersion: 'berth.dev/v1alpha1',
        kind: 'ManagedDeployment',
        metadata: { name, namespace: 'team', deletionTimestamp: 'now' },
        spec: specOf(1, { deploymentId: id }),
      });
      return purgeWork({ deployment_id: id, name });
    };
    const purges = Array.from({ length: 184 }, (_, i) => hanging(`p${i}`));
    const answers: WorkItem[][] = [];
    while (purges.length > 0) answers.push(purges.splice(0, 32));
    const pulling = pull([...answers, [hanging('last')], portion('other-')]);
    const reconcileRange = async (from: number, to: number) => {
      for (let i = from; i < to; i += 1) await t.table.reconcile(`p${i}`, signal);
      await settle();
    };
    await settle();
    await reconcileRange(31, 32);
    for (let from = 0; from < 184; from += 32) await reconcileRange(from, Math.min(from + 32, 184));
    expect([t.table.size, t.table.busy, pulling.asked()]).toEqual([184, 17, 9]);
    expect(await t.table.reconcile('p31', signal)).toEqual({ kind: 'settled' });
    for (const key of ['p183', 'last']) {
      expect(await t.table.reconcile(key, signal)).toMatchObject({ kind: 'requeue' });
    }
    pulling.stop();
    await pulling.done;
  });

  it('leaves work with the hub while the cluster does not respond', async () => {
    let reachable = false;
    const pulling = pull([[applyWork()]], () => reachable);
    await settle();
    expect(pulling.asked()).toBe(0);
    reachable = true;
    t.clock.advance(1000);
    await settle();
    expect(t.table.size).toBe(1);
    pulling.stop();
    await pulling.done;
  });

  it('waits after a failure, and ends the term when another process has the lease', async () => {
    const pulling = pull([new HubError('unavailable', 'away'), new HubError('conflict', 'stale', 409)]);
    await settle();
    expect(pulling.asked()).toBe(1);
    t.clock.advance(60_000);
    await pulling.done;
    expect(t.term.endedBecause).toBe('stale');
  });
});

describe('a purge that is blocked', () => {
  const claim = (finalizer: string) =>
    t.cluster.put({
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: {
        name: `${NAME}-db`,
        namespace: 'team',
        labels: OURS,
        deletionTimestamp: '2026-01-01T00:00:00Z',
        finalizers: [finalizer],
      },
    });

  it('is reported when what blocks it changes, and not again while it stays the same', async () => {
    claim('example.com/a');
    t.table.add(purgeWork());
    const reconcile = () => t.table.reconcile(ID, signal);
    expect(await reconcile()).toMatchObject({ kind: 'requeue' });
    expect(t.reported()).toMatchObject([
      { kind: 'refused', waiting: true, retryable: true, reason: 'FinalizerBlocks' },
    ]);
    for (let round = 0; round < 5; round += 1) await reconcile();
    // The hub hands the item out again until it is reported as done.
    t.table.add(purgeWork());
    await reconcile();
    expect(t.reported()).toEqual([]);
    claim('example.com/b');
    await reconcile();
    expect(t.reported()).toMatchObject([{ message: expect.stringContaining('example.com/b') }]);
    claim('kubernetes.io/pvc-protection');
    await reconcile();
    expect(t.reported()).toMatchObject([{ reason: 'BeingDeleted', waiting: true }]);
    t.cluster.remove('PersistentVolumeClaim', `${NAME}-db`);
    await reconcile();
    expect(t.reported()).toEqual([{ kind: 'purged', deployment_id: ID }]);
    expect(t.cluster.writes()).toEqual([]);
  });

  it('counts as running once it is in the table', () => {
    expect(t.table.isPurging(ID)).toBe(false);
    t.table.add(purgeWork());
    expect(t.table.isPurging(ID)).toBe(true);
  });
});
