import { describe, expect, onTestFinished, test } from 'vitest';
import type { KubeClient } from '../../../../../src/cluster/kube/client/client-types.ts';
import type { Clock } from '../../../../../src/cluster/kube/client/clock.ts';
import {
  type LeaderElectionOptions,
  LeaderElector,
} from '../../../../../src/cluster/kube/leader/leader-election.ts';
import { type Lease, microTime } from '../../../../../src/cluster/kube/leader/lease-lock.ts';
import { untilPasses } from '../../../until-passes.ts';
import { sendStatus } from '../fake-api-server.ts';
import { FakeClock, fakeServer, recordingLogger } from '../support.ts';

/** On a busy machine, a leader can lose a shorter lease. */
const TIMES = { leaseDurationMs: 8_000, renewDeadlineMs: 6_000, retryPeriodMs: 200 };
/** For leases that expire: short times with the proportions of the defaults. */
const SHORT = { leaseDurationMs: 1_500, renewDeadlineMs: 1_000, retryPeriodMs: 100 };

interface Contender {
  elector: LeaderElector;
  stop: AbortController;
  finished: Promise<void>;
  /** Signals of the terms so far. */
  terms: AbortSignal[];
  stopped: number;
}

function contend(
  client: KubeClient,
  identity: string,
  options: Partial<LeaderElectionOptions> = {},
): Contender {
  const stop = new AbortController();
  const terms: AbortSignal[] = [];
  const contender: Partial<Contender> = { stop, terms, stopped: 0 };
  const elector = new LeaderElector({
    client,
    lease: { namespace: 'ns', name: 'lead' },
    identity,
    logger: recordingLogger(),
    onStartedLeading: (signal) => void terms.push(signal),
    onStoppedLeading: () => {
      contender.stopped = (contender.stopped ?? 0) + 1;
    },
    ...TIMES,
    ...options,
  });
  const finished = elector.run(stop.signal);
  onTestFinished(async () => {
    stop.abort();
    await finished;
  });
  return Object.assign(contender, { elector, finished }) as Contender;
}

const leads =
  ({ elector }: Contender) =>
  () =>
    expect(elector.isLeader()).toBe(true);

describe('candidates', () => {
  test('hand over only once the lease is released', async () => {
    const { server, client } = await fakeServer();
    const first = contend(client, 'first');
    await untilPasses(leads(first));
    const second = contend(client, 'second');
    await untilPasses(() => expect(server.count('PUT')).toBeGreaterThan(3));
    expect({ second: second.elector.isLeader(), terms: second.terms.length }).toEqual({
      second: false,
      terms: 0,
    });

    first.stop.abort();
    await first.finished;
    expect(first.terms[0]?.aborted).toBe(true);
    expect(first.stopped).toBe(1);
    await untilPasses(leads(second));
    expect((server.objects.get('ns/lead') as Lease).spec).toMatchObject({
      holderIdentity: 'second',
      leaseTransitions: 1,
      leaseDurationSeconds: 8,
    });
  });

  test('renew without reading while they lead', async () => {
    const { server, client } = await fakeServer();
    await untilPasses(leads(contend(client, 'only')));
    const reads = server.count('GET');
    const writes = server.count('PUT');
    await untilPasses(() => expect(server.count('PUT')).toBeGreaterThan(writes + 3));
    expect(server.count('GET')).toBe(reads);
  });

  test('release the lease only after the work has drained', async () => {
    const { server, client } = await fakeServer();
    const drain = Promise.withResolvers<void>();
    const first = contend(client, 'first', { onStartedLeading: () => drain.promise });
    await untilPasses(leads(first));
    const second = contend(client, 'second');
    first.stop.abort();
    const renewals = server.count('PUT');
    await untilPasses(() => expect(server.count('PUT')).toBeGreaterThan(renewals + 2));
    expect(second.elector.isLeader()).toBe(false);
    drain.resolve();
    await first.finished;
    await untilPasses(leads(second));
  });

  test('release leadership and seek it again when the work fails', async () => {
    const { client } = await fakeServer();
    let terms = 0;
    const contender = contend(client, 'only', {
      onStartedLeading: async () => {
        terms += 1;
        if (terms === 1) throw new Error('a bug');
      },
    });
    await untilPasses(() => expect(terms).toBe(2));
    expect(contender.stopped).toBe(1);
  });
});

describe('a leader that cannot renew', () => {
  test('stops leading by its own clock, before the lease expires', async () => {
    const { server, client } = await fakeServer();
    const first = contend(client, 'first', SHORT);
    await untilPasses(leads(first));
    const second = contend(client, 'second', SHORT);
    // From now on the calls of the first one fail.
    server.intercept = ({ body }, response) => {
      const mine = (body as Lease | undefined)?.spec?.holderIdentity === 'first';
      if (mine) sendStatus(response, 503, 'ServiceUnavailable');
      return mine;
    };
    let firstWhenSecondBegan: boolean | undefined;
    await untilPasses(
      () => {
        if (second.elector.isLeader()) firstWhenSecondBegan ??= first.elector.isLeader();
        expect(firstWhenSecondBegan).toBeDefined();
      },
      { interval: 5 },
    );
    expect(firstWhenSecondBegan).toBe(false);
    expect(first.terms[0]?.aborted).toBe(true);
  });

  test('stops at once when another process holds the lease', async () => {
    const { server, client } = await fakeServer();
    const contender = contend(client, 'first');
    await untilPasses(leads(contender));
    const lease = server.objects.get('ns/lead') as Lease;
    server.put({ ...lease, spec: { ...lease.spec, holderIdentity: 'thief' } } as Lease);
    await untilPasses(() => expect(contender.terms[0]?.aborted).toBe(true));
    expect(contender.elector.isLeader()).toBe(false);
  });

  test('keeps leading when only the response to a renewal was lost', async () => {
    const { server, client } = await fakeServer();
    const contender = contend(client, 'first');
    await untilPasses(leads(contender));
    let lost = 0;
    server.intercept = ({ method, body }, response) => {
      if (method !== 'PUT' || lost > 0) return false;
      lost += 1;
      server.put(body as Lease);
      response.destroy();
      return true;
    };
    const writes = server.count('PUT');
    await untilPasses(() => expect(server.count('PUT')).toBeGreaterThan(writes + 4));
    expect(contender.terms).toHaveLength(1);
    expect(contender.terms[0]?.aborted).toBe(false);
  });
});

describe('a candidate', () => {
  const skewed = (ms: number): Clock => ({
    now: () => performance.now() + ms,
    date: () => new Date(Date.now() + ms),
    after: (delay, callback) => {
      const timer = setTimeout(callback, delay);
      return () => clearTimeout(timer);
    },
  });

  test.each([
    ['ahead', 3_600_000],
    ['behind', -3_600_000],
  ])('does not take a renewed lease when its clock is an hour %s', async (_name, skew) => {
    const { server, client } = await fakeServer();
    const first = contend(client, 'first');
    await untilPasses(leads(first));
    const second = contend(client, 'second', { clock: skewed(skew) });
    const reads = server.count('GET');
    await untilPasses(() => expect(server.count('GET')).toBeGreaterThan(reads + 20));
    expect(second.terms).toHaveLength(0);
    expect(first.terms[0]?.aborted).toBe(false);
    first.stop.abort();
    await untilPasses(leads(second));
  });

  test('takes a lease that is not renewed, even if its renewTime is in the future', async () => {
    const { server, client } = await fakeServer();
    server.put({
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { namespace: 'ns', name: 'lead' },
      spec: { holderIdentity: 'dead', leaseDurationSeconds: 1, renewTime: microTime(new Date('2099-01-01')) },
    } as Lease);
    const contender = contend(client, 'alive');
    await untilPasses(leads(contender));
  });

  test('stops leading after a suspension of the machine, and its next term lasts', async () => {
    const { server, client } = await fakeServer();
    const clock = new FakeClock();
    const contender = contend(client, 'first', { ...SHORT, clock });
    await untilPasses(leads(contender));
    clock.jump(SHORT.renewDeadlineMs - 1);
    expect(contender.elector.isLeader()).toBe(true);
    clock.jump(1);
    expect(contender.elector.isLeader()).toBe(false);

    clock.advance(SHORT.retryPeriodMs);
    await untilPasses(() => expect([contender.stopped, clock.timers]).toEqual([1, 1]));
    expect(contender.terms[0]?.aborted).toBe(true);
    clock.advance(SHORT.retryPeriodMs);
    await untilPasses(leads(contender));
    for (let passed = 0; passed < 2 * SHORT.renewDeadlineMs; passed += SHORT.retryPeriodMs) {
      await untilPasses(() => expect(clock.timers).toBe(1));
      const writes = server.count('PUT');
      clock.advance(SHORT.retryPeriodMs);
      await untilPasses(() => expect(server.count('PUT')).toBe(writes + 1));
    }
    expect(contender.terms).toHaveLength(2);
    expect(contender.elector.isLeader()).toBe(true);
  });

  test('does not lead longer when the wall clock is set back', async () => {
    const { client } = await fakeServer();
    const clock = new FakeClock();
    const contender = contend(client, 'first', { ...SHORT, clock });
    await untilPasses(leads(contender));
    clock.jump(-3_600_000);
    clock.advance(SHORT.renewDeadlineMs);
    expect(contender.elector.isLeader()).toBe(false);
  });

  test('writes times with six fractional digits to a Lease', () => {
    expect(microTime(new Date('2030-01-02T03:04:05.678Z'))).toBe('2030-01-02T03:04:05.678000Z');
  });

  test('rejects a lease duration that does not exceed the renew deadline', async () => {
    const { client } = await fakeServer();
    const options = {
      client,
      lease: { namespace: 'ns', name: 'lead' },
      identity: 'x',
      logger: recordingLogger(),
      onStartedLeading: () => {},
    };
    expect(() => new LeaderElector({ ...options, leaseDurationMs: 10, renewDeadlineMs: 10 })).toThrow(
      'must hold',
    );
  });
});
