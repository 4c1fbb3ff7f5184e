import { afterEach, describe, expect, it } from 'vitest';
import { HubError } from '../../../../../src/cluster/listener/session/hub-client.ts';
import { runTerms, type Term } from '../../../../../src/cluster/listener/session/term.ts';
import type { LeaseRequest } from '../../../../../src/contract/protocol/lease-protocol.ts';
import { FakeClock, recordingLogger } from '../../kube/support.ts';
import { settle } from '../fixtures.ts';

const TTL = 60;

function setUp(...first: (number | HubError)[]) {
  const clock = new FakeClock();
  const requests: LeaseRequest[] = [];
  const answers: (number | HubError | 'hang')[] = [...first];
  const terms: Term[] = [];
  const stopping = new AbortController();
  const cluster = { isReachable: true };
  let answered = 0;
  /** Maximum waits for the cluster, in milliseconds, one for each lease request. */
  const waits: (number | undefined)[] = [];
  const hub = {
    lease: async (request: LeaseRequest, { signal }: { signal?: AbortSignal } = {}) => {
      requests.push(request);
      const answer = answers.shift() ?? request.epoch ?? 1;
      if (answer === 'hang') {
        await new Promise((_resolve, reject) =>
          signal?.addEventListener('abort', () => reject(signal.reason)),
        );
      }
      if (answer instanceof HubError) throw answer;
      return { epoch: answer as number, ttl_seconds: TTL };
    },
  };
  const act = async (term: Term) => {
    terms.push(term);
    await new Promise<void>((resolve) => {
      term.lost.addEventListener('abort', () => resolve(), { once: true });
      stopping.signal.addEventListener('abort', () => resolve(), { once: true });
    });
  };
  const running = runTerms(
    {
      hub,
      identity: 'me',
      version: '1',
      namespaces: ['a'],
      clusterFacts: async (mostMs) => {
        waits.push(mostMs);
        return { cluster_version: 'v1', rendering: null, cluster_reachable: cluster.isReachable };
      },
      isClusterResponding: () => cluster.isReachable,
      onAnswer: () => {
        answered += 1;
      },
      act,
      logger: recordingLogger(),
      clock,
      random: () => 1,
    },
    stopping.signal,
  );
  const pass = async (ms: number) => {
    clock.advance(ms);
    await settle();
  };
  return {
    clock,
    requests,
    answers,
    terms,
    stopping,
    running,
    pass,
    cluster,
    waits,
    answered: () => answered,
  };
}
let t: ReturnType<typeof setUp>;
async function begin(...first: (number | HubError)[]): Promise<void> {
  t = setUp(...first);
  await settle();
}
afterEach(async () => {
  t.stopping.abort();
  await t.running;
});

describe('terms', () => {
  it('begin with a new epoch and are renewed', async () => {
    await begin();
    expect(t.requests).toMatchObject([{ holder: 'me', epoch: null, namespaces: ['a'] }]);
    await t.pass(30_000);
    expect(t.requests.slice(1)).toMatchObject([{ epoch: 1 }]);
    expect(t.terms[0]?.isValid()).toBe(true);
  });

  it('are renewed every 2 s while the cluster does not respond, so that its return is reported at once', async () => {
    await begin();
    t.cluster.isReachable = false;
    await t.pass(10_000);
    expect(t.requests.at(-1)).toMatchObject({ cluster_reachable: false });
    for (let told = 2; told < 6; told += 1) {
      expect(t.requests).toHaveLength(told);
      await t.pass(2_000);
    }
    t.cluster.isReachable = true;
    await t.pass(2_000);
    expect(t.requests.at(-1)).toMatchObject({ cluster_reachable: true });
    const then = t.requests.length;
    await t.pass(9_999);
    expect(t.requests).toHaveLength(then);
  });

  it('begin only when no other process holds the lease, and a conflict counts as a response of the hub', async () => {
    const held = new HubError('conflict', 'held', 409);
    await begin(held, held, 7);
    expect([t.terms.length, t.answered()]).toEqual([0, 1]);
    await t.pass(1500);
    await t.pass(1500);
    expect(t.terms).toMatchObject([{ epoch: 7 }]);
  });

  it('begin once the hub is back after a long outage', async () => {
    await begin(...Array<HubError>(5).fill(new HubError('unavailable', 'away')));
    expect(t.terms).toHaveLength(0);
    for (let i = 0; i < 5; i += 1) await t.pass(10_000);
    expect(t.terms).toHaveLength(1);
    expect(t.answered()).toBe(1);
  });

  it('survive failed renewals while the lease lasts, and end before another process can hold it', async () => {
    await begin();
    for (let i = 0; i < 60; i += 1) t.answers.push(new HubError('unavailable', 'away'));
    const [term] = t.terms;
    let passed = 0;
    for (; passed < TTL * 1000 - 1; passed += 1000) await t.pass(Math.min(1000, TTL * 1000 - 1 - passed));
    expect(term?.lost.aborted).toBe(false);
    await t.pass(1);
    expect(term?.lost.aborted).toBe(true);
    expect(term?.isValid()).toBe(false);
  });

  it('end after a suspension of the machine, which stops its clock but not that of the hub', async () => {
    await begin();
    const [term] = t.terms;
    t.clock.jump(TTL * 1000 - 1);
    expect(term?.isValid()).toBe(true);
    t.clock.jump(1);
    expect(term?.isValid()).toBe(false);
    await t.pass(20_000);
    expect(term?.lost.aborted).toBe(true);
  });

  it('are not prolonged by a clock that is set back', async () => {
    await begin();
    t.clock.jump(-3_600_000);
    for (let i = 0; i < 60; i += 1) t.answers.push(new HubError('unavailable', 'away'));
    for (let passed = 0; passed < TTL; passed += 1) await t.pass(1000);
    expect(t.terms[0]?.isValid()).toBe(false);
  });

  it('end even when a renewal hangs', async () => {
    await begin();
    t.answers.push('hang');
    await t.pass(20_000);
    await t.pass(40_000);
    expect(t.terms[0]?.lost.aborted).toBe(true);
  });

  it('end at once when the hub says so, and a new one begins with a new epoch', async () => {
    await begin();
    t.answers.push(new HubError('conflict', 'stale', 409), 9);
    await t.pass(10_000);
    expect(t.terms.map(({ epoch, lost }) => [epoch, lost.aborted])).toEqual([
      [1, true],
      [9, false],
    ]);
    expect(t.requests.at(-1)).toMatchObject({ epoch: null });
  });

  it('begin without a limit on the wait for the cluster, and are renewed and released with one', async () => {
    await begin();
    await t.pass(10_000);
    t.stopping.abort();
    await t.running;
    expect(t.waits).toEqual([undefined, (TTL * 1000) / 10, 0]);
  });

  it('release the lease on stop', async () => {
    await begin();
    t.stopping.abort();
    await t.running;
    expect(t.requests.at(-1)).toMatchObject({ epoch: 1, release: true });
  });
});
