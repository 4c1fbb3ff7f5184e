import { describe, expect, test } from 'vitest';
import { KubeError } from '../../../../../src/cluster/kube/client/errors.ts';
import { type ReconcileOutcome, runWorkers } from '../../../../../src/cluster/kube/queue/controller.ts';
import { WorkQueue } from '../../../../../src/cluster/kube/queue/work-queue.ts';
import { currentTenant } from '../../../../../src/cluster/kube/transport/flow-context.ts';
import { untilPasses } from '../../../until-passes.ts';
import { FakeClock, recordingLogger } from '../support.ts';

function setUp(
  reconcile: (key: string, signal: AbortSignal) => Promise<ReconcileOutcome>,
  extra: { abort?: AbortSignal; deadlineMs?: number } = {},
) {
  const clock = new FakeClock();
  const queue = new WorkQueue({ clock, random: () => 1 });
  const stop = new AbortController();
  const logger = recordingLogger();
  const outcomes: string[] = [];
  const finished = runWorkers({
    queue,
    reconcile,
    workers: 2,
    logger,
    signal: stop.signal,
    onOutcome: ({ key, outcome }) => outcomes.push(`${key}: ${outcome.kind}`),
    ...extra,
  });
  return { clock, queue, stop, logger, outcomes, finished };
}

test('a reconcile runs on behalf of the group of its key', async () => {
  const groups: string[] = [];
  const stop = new AbortController();
  const queue = new WorkQueue({ tenantOf: (key) => `tenant of ${key}` });
  const finished = runWorkers({
    queue,
    reconcile: async (key) => {
      await Promise.resolve();
      groups.push(`${key}: ${currentTenant()}`);
      return { kind: 'settled' };
    },
    workers: 1,
    logger: recordingLogger(),
    signal: stop.signal,
  });
  queue.add('a');
  queue.add('b');
  await untilPasses(() => expect(groups).toEqual(['a: tenant of a', 'b: tenant of b']));
  stop.abort();
  await finished;
});

test('reconciles that make no calls yield to the event loop, so that the lease can be renewed', async () => {
  const KEYS = 100;
  const s = setUp(async () => ({ kind: 'settled' }));
  let reconcilesBefore = KEYS;
  setImmediate(() => {
    reconcilesBefore = s.outcomes.length;
  });
  for (let key = 0; key < KEYS; key += 1) s.queue.add(String(key));
  await untilPasses(() => expect(s.outcomes).toHaveLength(KEYS));
  expect(reconcilesBefore).toBeLessThan(KEYS);
  s.stop.abort();
  await s.finished;
});

describe('the outcome of a reconcile', () => {
  test('leads to another reconcile after its time for requeue, and to none for settled', async () => {
    let reconciles = 0;
    const s = setUp(async () => {
      reconciles += 1;
      return reconciles === 1 ? { kind: 'requeue', afterMs: 5_000 } : { kind: 'settled' };
    });
    s.queue.add('a');
    await untilPasses(() => expect(s.outcomes).toEqual(['a: requeue']));
    s.clock.advance(5_000);
    await untilPasses(() => expect(s.outcomes).toEqual(['a: requeue', 'a: settled']));
    expect(s.queue.delayed).toBe(0);
    s.stop.abort();
    await s.finished;
  });

  test('leads to a retry with backoff, at least as long as the server asked, also for a thrown error', async () => {
    const errors = [
      new KubeError({ kind: 'too_many_requests', message: 'busy', retryAfterMs: 9_000 }),
      new TypeError('a bug'),
    ];
    const s = setUp(async (key): Promise<ReconcileOutcome> => {
      const error = errors.shift();
      if (error instanceof KubeError) return { kind: 'retry', error };
      if (error !== undefined) throw error;
      return { kind: key === 'a' ? 'settled' : 'terminal', error: new Error('never') };
    });
    s.queue.add('a');
    await untilPasses(() => expect(s.outcomes).toEqual(['a: retry']));
    s.clock.advance(8_999);
    expect(s.queue.delayed).toBe(1);
    s.clock.advance(1);
    await untilPasses(() => expect(s.outcomes).toEqual(['a: retry', 'a: retry']));
    expect(s.queue.failures('a')).toBe(2);
    s.clock.advance(1_000);
    await untilPasses(() => expect(s.outcomes.at(-1)).toBe('a: settled'));
    expect(s.queue.failures('a')).toBe(0);
    s.stop.abort();
    await s.finished;
  });

  test('leads to no retry when it is terminal', async () => {
    const s = setUp(async () => ({ kind: 'terminal', error: new Error('invalid') }));
    s.queue.add('a');
    await untilPasses(() => expect(s.outcomes).toEqual(['a: terminal']));
    expect(s.queue.delayed).toBe(0);
    s.stop.abort();
    await s.finished;
  });
});

describe('workers', () => {
  test('finish current reconciles and start no new ones after stop', async () => {
    const release = Promise.withResolvers<void>();
    const seen: boolean[] = [];
    const s = setUp(async (_key, signal) => {
      await release.promise;
      seen.push(signal.aborted);
      return { kind: 'settled' };
    });
    for (const key of ['a', 'b', 'c']) s.queue.add(key);
    await untilPasses(() => expect(s.queue.processing).toBe(2));
    s.stop.abort();
    release.resolve();
    await s.finished;
    expect(s.outcomes.sort()).toEqual(['a: settled', 'b: settled']);
    expect(seen).toEqual([false, false]);
  });

  test('pass an abort and the deadline to the reconcile through its signal', async () => {
    const abort = new AbortController();
    const untilAborted = (_key: string, signal: AbortSignal) =>
      new Promise<ReconcileOutcome>((_resolve, reject) =>
        signal.addEventListener('abort', () => reject(signal.reason)),
      );
    const lost = setUp(untilAborted, { abort: abort.signal });
    lost.queue.add('a');
    await untilPasses(() => expect(lost.queue.processing).toBe(1));
    abort.abort(new Error('leadership lost'));
    await lost.finished;
    expect(lost.queue.delayed).toBe(0);

    const slow = setUp(untilAborted, { deadlineMs: 5 });
    slow.queue.add('a');
    await untilPasses(() => expect(slow.outcomes).toEqual(['a: retry']));
    expect(slow.queue.delayed).toBe(1);
    slow.stop.abort();
    await slow.finished;
  });

  test('continue after an error of the observer', async () => {
    const queue = new WorkQueue();
    const stop = new AbortController();
    const keys: string[] = [];
    const finished = runWorkers({
      queue,
      workers: 1,
      logger: recordingLogger(),
      signal: stop.signal,
      reconcile: async (key) => {
        keys.push(key);
        return { kind: 'settled' };
      },
      onOutcome: () => {
        throw new Error('a bug');
      },
    });
    queue.add('a');
    queue.add('b');
    await untilPasses(() => expect(keys).toEqual(['a', 'b']));
    stop.abort();
    await finished;
  });
});
