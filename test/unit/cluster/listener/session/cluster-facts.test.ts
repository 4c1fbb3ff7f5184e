import { describe, expect, it } from 'vitest';
import { KubeError } from '../../../../../src/cluster/kube/client/errors.ts';
import { ClusterProbe } from '../../../../../src/cluster/listener/session/cluster-facts.ts';
import { FakeClock, recordingLogger } from '../../kube/support.ts';

/** @param ownNamespace null: the namespace of the Lease is unknown */
function setUp(ownNamespace: string | null = 'berth-system') {
  const clock = new FakeClock();
  let asked = 0;
  let up = true;
  let lastError: string | undefined;
  const uids = new Map<string, string | 'forbidden'>();
  const lookups: string[] = [];
  const lease = {
    read: 0,
    answer: 'none' as 'none' | 'forbidden' | 'lost',
    /** Delays the response. */
    held: undefined as PromiseWithResolvers<void> | undefined,
  };
  const unreadable: { namespace: string; message: string }[] = [];
  const logger = recordingLogger();
  const probe = new ClusterProbe({
    client: {
      serverVersion: async () => {
        asked += 1;
        if (!up) throw new Error('ECONNREFUSED');
        return { major: '1', minor: '36+', gitVersion: 'v1.36.3-eks' };
      },
      find: async ({ kind }, { name, namespace }) => {
        if (kind === 'Lease') {
          expect([namespace, name]).toEqual(['berth-system', 'berth-operator']);
          lease.read += 1;
          await lease.held?.promise;
          if (lease.answer === 'forbidden') throw new KubeError({ kind: 'forbidden', message: 'no' });
          if (lease.answer === 'lost') throw new KubeError({ kind: 'network', message: 'etcd is gone' });
          return undefined;
        }
        lookups.push(name);
        const uid = uids.get(name);
        if (uid === 'forbidden') throw new KubeError({ kind: 'forbidden', message: 'no' });
        if (uid === 'lost') throw new KubeError({ kind: 'network', message: 'no' });
        return (uid === undefined ? undefined : { metadata: { name, uid } }) as never;
      },
    },
    ownNamespace: ownNamespace ?? undefined,
    namespaces: ['team-b', 'team-a'],
    lastError: () => lastError,
    unreadable: () => unreadable,
    rendering: { hosting: 'self_hosted' } as never,
    logger,
    clock,
  });
  return {
    probe,
    clock,
    logger,
    asked: () => asked,
    uids,
    lookups,
    lease,
    unreadable,
    set: (now: boolean, error?: string) => {
      up = now;
      lastError = error;
    },
  };
}

describe('the reported facts of the cluster', () => {
  it('contain its version, read once an hour, and the rendering for it', async () => {
    const t = setUp();
    expect(await t.probe.facts()).toEqual({
      cluster_version: 'v1.36.3-eks',
      rendering: { hosting: 'self_hosted', kubernetesVersion: '1.36' },
      cluster_reachable: true,
      unreadable_namespaces: [],
    });
    await t.probe.facts();
    expect([t.asked(), t.lease.read]).toEqual([1, 1]);
    t.clock.advance(20_000);
    await t.probe.facts();
    expect([t.asked(), t.lease.read]).toEqual([1, 2]);
    t.clock.advance(3_600_000);
    await t.probe.facts();
    expect([t.asked(), t.lease.read]).toEqual([2, 3]);
  });

  it('report it as unreachable while etcd is down, even if the version can be read', async () => {
    const t = setUp();
    await t.probe.facts();
    t.lease.answer = 'lost';
    expect(await t.probe.facts()).toMatchObject({ cluster_reachable: true });
    t.clock.advance(20_000);
    for (const _again of [1, 2])
      expect(await t.probe.facts()).toMatchObject({
        cluster_reachable: false,
        cluster_version: 'v1.36.3-eks',
      });
    t.lease.answer = 'none';
    expect(await t.probe.facts()).toMatchObject({ cluster_reachable: true });
    // It may have been upgraded while it was unreachable.
    expect(t.asked()).toBe(2);
  });

  it.each([
    ['has the rights of an older version', 'berth-system', 'forbidden'],
    ['does not know its own namespace', null, 'none'],
  ] as const)(
    'include a read of the version each time when the listener %s',
    async (_who, ownNamespace, answer) => {
      const t = setUp(ownNamespace);
      t.lease.answer = answer;
      await t.probe.facts();
      t.clock.advance(20_000);
      expect(await t.probe.facts()).toMatchObject({ cluster_reachable: true });
      expect(t.asked()).toBe(2);
    },
  );

  it('report it as unreachable until it responds, and log each change once', async () => {
    const t = setUp();
    await t.probe.facts();
    t.set(true, 'watch failed');
    expect(await t.probe.facts()).toMatchObject({ cluster_reachable: false, cluster_version: 'v1.36.3-eks' });
    expect(t.probe.isReachable).toBe(false);
    t.set(false);
    await t.probe.facts();
    t.set(true);
    expect(await t.probe.facts()).toMatchObject({ cluster_reachable: true });
    expect(t.logger.lines.map(({ level }) => level)).toEqual(['warn', 'info']);
  });

  it('contain a namespace that could not be read at two consecutive polls, while the cluster is reachable', async () => {
    const t = setUp();
    const trouble = { namespace: 'team-a', message: 'forbidden' };
    t.unreadable.push(trouble);
    expect(await t.probe.facts()).toMatchObject({ cluster_reachable: true, unreadable_namespaces: [] });
    expect(await t.probe.facts()).toMatchObject({ unreadable_namespaces: [trouble] });
    t.unreadable.pop();
    expect(await t.probe.facts()).toMatchObject({ unreadable_namespaces: [] });
  });

  it('contain its id from kube-system or from the first readable namespace, read once', async () => {
    const t = setUp();
    t.uids.set('kube-system', 'u1');
    expect(await t.probe.facts()).toMatchObject({ cluster_id: 'kube-system/u1' });
    t.clock.advance(20_000);
    await t.probe.facts();
    expect(t.lookups).toEqual(['kube-system']);

    const narrow = setUp();
    narrow.uids.set('kube-system', 'forbidden').set('team-a', 'forbidden').set('team-b', 'u2');
    expect(await narrow.probe.facts()).toMatchObject({ cluster_id: 'team-b/u2' });
    const blind = setUp();
    for (const name of ['kube-system', 'team-a', 'team-b']) blind.uids.set(name, 'forbidden');
    expect(await blind.probe.facts()).toMatchObject({ cluster_reachable: true });
    expect(await blind.probe.facts()).not.toHaveProperty('cluster_id');
  });

  it('never report it as reachable without its id when the id can be read', async () => {
    const t = setUp();
    t.uids.set('kube-system', 'lost');
    expect(await t.probe.facts()).toMatchObject({ cluster_reachable: false });
    t.uids.set('kube-system', 'u1');
    expect(await t.probe.facts()).toMatchObject({ cluster_reachable: true, cluster_id: 'kube-system/u1' });
  });

  it('contain no version and no rendering before the first response', async () => {
    const t = setUp();
    t.set(false);
    expect(await t.probe.facts()).toEqual({
      cluster_version: '',
      rendering: null,
      cluster_reachable: false,
      unreadable_namespaces: [],
    });
  });

  it('are the last known ones when the cluster responds too slowly, and one poll continues', async () => {
    const t = setUp();
    await t.probe.facts();
    t.clock.advance(20_000);
    t.lease.held = Promise.withResolvers();
    t.lease.answer = 'lost';
    for (const _again of [1, 2]) {
      const facts = t.probe.facts(1500);
      t.clock.advance(1500);
      expect(await facts).toMatchObject({ cluster_reachable: true });
      expect(t.probe.isResponding).toBe(false);
    }
    expect(t.lease.read).toBe(2);
    const facts = t.probe.facts(1500);
    t.lease.held.resolve();
    expect(await facts).toMatchObject({ cluster_reachable: false });
    t.lease.answer = 'none';
    expect(await t.probe.facts(1500)).toMatchObject({ cluster_reachable: true });
    expect(t.probe.isResponding).toBe(true);
  });

  it('contain an error of a watch that occurs during a poll', async () => {
    const t = setUp();
    t.lease.held = Promise.withResolvers();
    const facts = t.probe.facts();
    t.set(true, 'watch failed');
    t.lease.held.resolve();
    expect(await facts).toMatchObject({ cluster_reachable: false });
  });

  it('are read without a poll when there is no time for one', async () => {
    const t = setUp();
    await t.probe.facts();
    t.clock.advance(20_000);
    expect(await t.probe.facts(0)).toMatchObject({ cluster_version: 'v1.36.3-eks' });
    expect(t.lease.read).toBe(1);
  });
});
