import { beforeEach, describe, expect, it } from 'vitest';
import type { WorkItem } from '../../../src/contract/listener-protocol.ts';
import { EnvSecrets } from '../../../src/listener/env-secrets.ts';
import { HubError } from '../../../src/listener/hub-client.ts';
import { Outbox } from '../../../src/listener/outbox.ts';
import { pullWork } from '../../../src/listener/puller.ts';
import { TenantNamespaces } from '../../../src/listener/tenant-namespace.ts';
import { WorkTable } from '../../../src/listener/work-table.ts';
import { FakeClock, recordingLogger } from '../kube/support.ts';
import { applyWork, FakeCluster, fakeTerm, ID, NAME, purgeWork, settle } from './fixtures.ts';

const signal = new AbortController().signal;

function setUp() {
  const cluster = new FakeCluster();
  const { client } = cluster;
  const outbox = new Outbox();
  const term = fakeTerm();
  const clock = new FakeClock();
  const logger = recordingLogger();
  const options = {
    deps: {
      client,
      view: cluster.view(),
      secrets: new EnvSecrets({ client, logger }),
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
  const told = () => outbox.draft(100)?.reports ?? [];
  return { cluster, outbox, term, clock, logger, table, told, options };
}
let t: ReturnType<typeof setUp>;
beforeEach(() => {
  t = setUp();
});

describe('the work table', () => {
  it('reports what was applied, with the generation', async () => {
    t.table.add(applyWork({ generation: 3 }));
    expect(await t.table.reconcile(ID, signal)).toEqual({ kind: 'settled' });
    expect(t.told()).toEqual([{ kind: 'applied', deployment_id: ID, generation: 3 }]);
    expect(t.table.size).toBe(0);
  });

  it('reports no older generation than the cluster has as applied: the hub is to compare the two', async () => {
    t.table.add(applyWork({ generation: 7 }));
    await t.table.reconcile(ID, signal);
    expect(t.told()).toHaveLength(1);
    const former = new WorkTable({ ...t.options });
    former.add(applyWork({ generation: 4 }));
    expect(await former.reconcile(ID, signal)).toEqual({ kind: 'settled' });
    expect([former.size, t.told()]).toEqual([0, []]);
    expect([...t.outbox.takeTouched().touched.keys()]).toEqual([`team/${NAME}`]);
    expect(t.cluster.get('ManagedDeployment', NAME)).toMatchObject({ spec: { generation: 7 } });
  });

  it('keeps the latest item of a deployment, whatever the order of arrival', async () => {
    t.table.add(applyWork({ generation: 3 }));
    t.table.add(applyWork({ generation: 2 }));
    await t.table.reconcile(ID, signal);
    expect(t.told()).toMatchObject([{ generation: 3 }]);
  });

  it('an item that comes while an older one is under way is done afterwards', async () => {
    t.table.add(applyWork({ generation: 1 }));
    t.cluster.before = () => {
      t.cluster.before = () => {};
      t.table.add(applyWork({ generation: 2 }));
    };
    await t.table.reconcile(ID, signal);
    expect(t.table.size).toBe(1);
    await t.table.reconcile(ID, signal);
    expect(t.cluster.get('ManagedDeployment', NAME)).toMatchObject({ spec: { generation: 2 } });
  });

  it('a purge replaces an apply; waiting is no failure', async () => {
    t.table.add(applyWork());
    await t.table.reconcile(ID, signal);
    t.table.add(purgeWork());
    expect(await t.table.reconcile(ID, signal)).toMatchObject({ kind: 'requeue' });
    t.cluster.remove('ManagedDeployment', NAME);
    await t.table.reconcile(ID, signal);
    expect(t.told()).toEqual([{ kind: 'purged', deployment_id: ID }]);
  });

  it('a refusal is told, for good or not, and the item left to the hub', async () => {
    for (const [failure, retryable] of [
      ['invalid', false],
      ['forbidden', true],
      ['not_found', true],
    ] as const) {
      t.cluster.failures.set('create ManagedDeployment', [failure]);
      t.table.add(applyWork());
      expect(await t.table.reconcile(ID, signal)).toEqual({ kind: 'settled' });
      expect(t.told()).toMatchObject([{ kind: 'refused', generation: 1, retryable }]);
      expect(t.table.size).toBe(0);
    }
  });

  it('a failure that may pass is tried again without a word, then told', async () => {
    t.cluster.failures.set('create ManagedDeployment', Array(9).fill('server'));
    t.table.add(applyWork());
    for (let i = 0; i < 3; i += 1) {
      expect((await t.table.reconcile(ID, signal)).kind).toBe('retry');
      t.table.queue.addRateLimited(ID);
    }
    expect(t.told()).toEqual([]);
    await t.table.reconcile(ID, signal);
    expect(t.told()).toMatchObject([{ kind: 'refused', reason: 'ReconcileFailed', retryable: true }]);
  });

  it('writes and tells nothing once the term is over', async () => {
    t.table.add(applyWork());
    t.term.lose();
    expect(await t.table.reconcile(ID, signal)).toEqual({ kind: 'settled' });
    expect(t.cluster.writes()).toEqual([]);
    expect(t.told()).toEqual([]);
  });

  it('an item of the same generation again is a repair: environments are looked at again', async () => {
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

describe('pulling work', () => {
  function pull(answers: (WorkItem[] | Error)[], reachable = () => true) {
    const stopping = new AbortController();
    t.term.lost.addEventListener('abort', () => stopping.abort());
    let asked = 0;
    const hub = {
      work: async (_query: object, { signal: gone }: { signal?: AbortSignal } = {}) => {
        asked += 1;
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
    return { stop: () => stopping.abort(), done, asked: () => asked };
  }

  it('fills the table and asks again', async () => {
    const pulling = pull([[applyWork()], [applyWork({ deployment_id: 'b' })]]);
    await settle();
    expect([t.table.size, pulling.asked()]).toEqual([2, 3]);
    pulling.stop();
    await pulling.done;
  });

  it('takes no more than can be done soon, until some is done', async () => {
    const many = (prefix: string) =>
      Array.from({ length: 100 }, (_, i) => applyWork({ deployment_id: `${prefix}${i}` }));
    const pulling = pull([many('a'), many('b')]);
    await settle();
    expect([t.table.size, pulling.asked()]).toEqual([200, 2]);
    for (let i = 0; i < 100; i += 1) await t.table.reconcile(`a${i}`, signal);
    await settle();
    expect(pulling.asked()).toBe(3);
    pulling.stop();
    await pulling.done;
  });

  it('leaves work with the hub while the cluster does not answer', async () => {
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

  it('waits after a failure, and ends the term when the lease is another’s', async () => {
    const pulling = pull([new HubError('unavailable', 'away'), new HubError('conflict', 'stale', 409)]);
    await settle();
    expect(pulling.asked()).toBe(1);
    t.clock.advance(60_000);
    await pulling.done;
    expect(t.term.endedBecause).toBe('stale');
  });
});
