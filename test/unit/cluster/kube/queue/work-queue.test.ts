import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { WorkQueue } from '../../../../../src/cluster/kube/queue/work-queue.ts';
import { FakeClock } from '../support.ts';

function setUp(options: ConstructorParameters<typeof WorkQueue>[0] = {}) {
  const clock = new FakeClock();
  return { clock, queue: new WorkQueue({ clock, random: () => 1, ...options }) };
}

/** Takes a key that must be there already. */
async function take(queue: WorkQueue): Promise<string | undefined> {
  return Promise.race([
    queue.get(),
    Promise.resolve()
      .then(() => Promise.resolve())
      .then(() => 'nothing'),
  ]);
}

describe('keys', () => {
  test('are handed out once, in order, however often they were added', async () => {
    const { queue } = setUp();
    for (const key of ['a', 'b', 'a', 'b']) queue.add(key);
    expect([await take(queue), await take(queue), await take(queue)]).toEqual(['a', 'b', 'nothing']);
  });

  test('are handed out again after done when they are added while being processed', async () => {
    const { queue } = setUp();
    queue.add('a');
    await queue.get();
    queue.add('a');
    expect(queue.depth).toBe(0);
    queue.done('a');
    expect(queue.depth).toBe(1);
    expect(await take(queue)).toBe('a');
    queue.done('a');
    expect(queue.depth).toBe(0);
  });

  test('are ready only once, even when their tenant has changed', async () => {
    let tenant = 'tenant';
    const { queue } = setUp({ tenantOf: () => tenant });
    queue.add('a');
    tenant = '';
    queue.add('a');
    expect(queue.depth).toBe(1);
    expect([await take(queue), await take(queue)]).toEqual(['a', 'nothing']);
  });

  test('go to a waiting worker', async () => {
    const { queue } = setUp();
    const waiting = [queue.get(), queue.get()];
    queue.add('a');
    queue.add('b');
    expect(await Promise.all(waiting)).toEqual(['a', 'b']);
  });
});

describe('held keys', () => {
  test('wait for the release, and are then handed out by name in turns of their current tenants', async () => {
    const tenants: Record<string, string> = {};
    const { clock, queue } = setUp({ held: true, tenantOf: (key) => tenants[key] ?? 'unknown' });
    const waiting = queue.get();
    queue.add('c');
    clock.advance(500);
    for (const key of ['b', 'a', 'd', 'b']) queue.add(key);
    queue.addAfter('a', 1000);
    expect(await take(queue)).toBe('nothing');
    expect(queue).toMatchObject({ depth: 4, oldestAgeMs: 500, delayed: 0 });
    tenants['d'] = 'known';
    queue.release();
    // The first worker has waited all the time, and so has the second one above, which gets `d`.
    expect([await waiting, queue.depth]).toEqual(['a', 2]);
    expect(await take(queue)).toBe('b');
    expect(await take(queue)).toBe('c');
    expect(queue).toMatchObject({ depth: 0, oldestAgeMs: 0 });
    queue.add('z');
    queue.add('y');
    expect([await take(queue), await take(queue)]).toEqual(['z', 'y']);
  });

  test('are dropped when the queue is shut down', async () => {
    const { clock, queue } = setUp({ held: true });
    queue.add('a');
    await queue.shutdown();
    clock.advance(1000);
    expect(queue).toMatchObject({ depth: 0, oldestAgeMs: 0 });
    queue.release();
    expect(queue.depth).toBe(0);
    expect(await queue.get()).toBeUndefined();
  });
});

describe('delays', () => {
  test('end at the earliest of several times for one key', async () => {
    const { queue, clock } = setUp();
    queue.addAfter('a', 5_000);
    queue.addAfter('a', 1_000);
    queue.addAfter('a', 9_000);
    clock.advance(999);
    expect(queue.depth).toBe(0);
    clock.advance(1);
    expect(await take(queue)).toBe('a');
    queue.done('a');
    clock.advance(10_000);
    expect(queue.depth).toBe(0);
  });

  test('end when the key is handed out for another reason', async () => {
    const { queue, clock } = setUp();
    queue.addAfter('a', 1_000);
    queue.add('a');
    expect(await take(queue)).toBe('a');
    queue.done('a');
    clock.advance(10_000);
    expect(queue.depth).toBe(0);
  });

  test('continue when they are requested during processing', async () => {
    const { queue, clock } = setUp();
    queue.add('a');
    await queue.get();
    queue.addAfter('a', 1_000);
    queue.done('a');
    expect(queue.delayed).toBe(1);
    clock.advance(1_000);
    expect(await take(queue)).toBe('a');
  });

  test('hand out the key again when they end during its processing', async () => {
    const { queue, clock } = setUp();
    queue.add('a');
    await queue.get();
    queue.addAfter('a', 1_000);
    clock.advance(1_000);
    expect(queue.depth).toBe(0);
    queue.done('a');
    expect(await take(queue)).toBe('a');
  });

  test('double with full jitter up to the cap until the key is forgotten', () => {
    const { queue } = setUp({ backoff: { baseMs: 500, capMs: 60_000 } });
    const delays = Array.from({ length: 9 }, () => queue.addRateLimited('a'));
    expect(delays).toEqual([500, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000]);
    expect(queue.failures('a')).toBe(9);
    queue.forget('a');
    expect(queue.addRateLimited('a')).toBe(500);
    expect(setUp({ random: () => 0.25 }).queue.addRateLimited('b')).toBe(125);
  });

  test('are never shorter than what the server asked for', () => {
    const { queue } = setUp();
    expect(queue.addRateLimited('a', 7_000)).toBe(7_000);
  });

  test('hold back a key for the time that the server requested, even if it is added meanwhile', async () => {
    const { queue, clock } = setUp();
    queue.add('a');
    queue.add('b');
    expect(await take(queue)).toBe('a');
    queue.add('a');
    queue.addRateLimited('a', 3_000);
    queue.done('a');
    queue.add('a');
    queue.addAfter('a', 100);
    clock.advance(2_999);
    expect([await take(queue), await take(queue)]).toEqual(['b', 'nothing']);
    expect(queue.delayed).toBe(1);
    clock.advance(1);
    // Handed to the call that has waited for a key.
    expect(queue.processing).toBe(2);
    expect(queue.delayed).toBe(0);
  });

  test('end with a successful reconcile, even if the server requested them', async () => {
    const { queue } = setUp();
    queue.add('a');
    await take(queue);
    queue.addRateLimited('a', 60_000);
    queue.forget('a');
    queue.done('a');
    queue.add('a');
    expect(await take(queue)).toBe('a');
  });
});

describe('a queue with tenants', () => {
  test('lets tenants take turns', async () => {
    const { queue } = setUp({ tenantOf: (key) => key.split('/')[0] ?? '' });
    for (let n = 0; n < 1_000; n += 1) queue.add(`big/${n}`);
    queue.add('small/0');
    queue.add('small/1');
    const order = [
      await take(queue),
      await take(queue),
      await take(queue),
      await take(queue),
      await take(queue),
    ];
    expect(order).toEqual(['big/0', 'small/0', 'big/1', 'small/1', 'big/2']);
  });

  test('keeps a worker free, so that a key of another tenant is handed out at once', async () => {
    const { queue } = setUp({ tenantOf: (key) => key.split('/')[0] ?? '', perTenant: 2 });
    const handedOut: (string | undefined)[] = [];
    const work = () => void queue.get().then((key) => handedOut.push(key));
    for (let worker = 0; worker < 4; worker += 1) work();
    for (const key of ['crowd/1', 'crowd/2', 'crowd/3', 'crowd/4', 'other/1']) queue.add(key);
    await Promise.resolve();
    expect(handedOut).toEqual(['crowd/1', 'crowd/2', 'other/1']);
    expect({ depth: queue.depth, processing: queue.processing }).toEqual({ depth: 2, processing: 3 });
    queue.done('other/1');
    await Promise.resolve();
    expect(handedOut).toHaveLength(3);
    queue.done('crowd/1');
    await Promise.resolve();
    expect(handedOut.at(-1)).toBe('crowd/3');
  });
});

describe('a queue', () => {
  test('reports depth, number of keys in processing and the age of the oldest key', async () => {
    const { queue, clock } = setUp();
    expect(queue.oldestAgeMs).toBe(0);
    queue.add('a');
    clock.advance(400);
    queue.add('b');
    clock.advance(100);
    expect({ depth: queue.depth, oldest: queue.oldestAgeMs }).toEqual({ depth: 2, oldest: 500 });
    await queue.get();
    expect({ depth: queue.depth, oldest: queue.oldestAgeMs }).toEqual({ depth: 1, oldest: 100 });
    expect(queue.processing).toBe(1);
  });

  test('waits for current keys at shutdown, and hands out no others', async () => {
    const { queue, clock } = setUp();
    queue.add('a');
    queue.addAfter('later', 10);
    await queue.get();
    const waiting = queue.get();
    queue.add('b');
    expect(await waiting).toBe('b');
    const idle = queue.get();
    let drained = false;
    const done = queue.shutdown().then(() => {
      drained = true;
    });
    expect(await idle).toBeUndefined();
    queue.add('c');
    queue.done('a');
    await Promise.resolve();
    expect(drained).toBe(false);
    queue.done('b');
    await done;
    expect(await queue.get()).toBeUndefined();
    expect({ depth: queue.depth, timers: clock.timers }).toEqual({ depth: 0, timers: 0 });
  });
});

const key = fc.integer({ min: 0, max: 5 }).map(String);
/** A step of a random sequence. */
const step = fc.oneof(
  fc.record({ do: fc.constant('add' as const), key }),
  fc.record({ do: fc.constant('addAfter' as const), key, ms: fc.nat(3_000) }),
  fc.record({ do: fc.constant('addRateLimited' as const), key }),
  fc.record({ do: fc.constant('advance' as const), ms: fc.nat(2_000) }),
  fc.record({ do: fc.constant('take' as const) }),
  fc.record({ do: fc.constant('done' as const), which: fc.nat(5) }),
);
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;

/** A queue with its workers and its clock, and its invariants. */
class Model {
  readonly #clock = new FakeClock();
  readonly queue = new WorkQueue({
    clock: this.#clock,
    random: () => 0.5,
    tenantOf: (name) => String(Number(name) % 2),
  });
  readonly #held: string[] = [];
  /** Keys that were added since they were last handed out. */
  readonly owed = new Set<string>();

  async perform(action: Step): Promise<void> {
    if ('key' in action) this.owed.add(action.key);
    switch (action.do) {
      case 'add':
        this.queue.add(action.key);
        break;
      case 'addAfter':
        this.queue.addAfter(action.key, action.ms);
        break;
      case 'addRateLimited':
        this.queue.addRateLimited(action.key);
        break;
      case 'advance':
        this.#clock.advance(action.ms);
        break;
      case 'take':
        await this.take();
        break;
      case 'done':
        this.#done(action.which);
    }
  }

  async take(): Promise<void> {
    if (this.queue.depth === 0) return;
    const taken = (await this.queue.get()) ?? '';
    expect(this.#held).not.toContain(taken);
    this.#held.push(taken);
    this.owed.delete(taken);
  }

  /** Advances the time until all work is done. */
  async runDry(): Promise<void> {
    for (let round = 0; round < 3; round += 1) {
      while (this.#held.length > 0) this.#done(0);
      this.#clock.advance(60_000);
      while (this.queue.depth > 0) await this.take();
    }
    while (this.#held.length > 0) this.#done(0);
  }

  #done(which: number): void {
    const [held] = this.#held.splice(which % Math.max(1, this.#held.length), 1);
    if (held !== undefined) this.queue.done(held);
  }
}

describe('any sequence of calls', () => {
  test('gives no key to two workers, and loses no added key', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 120 }), async (steps) => {
        const model = new Model();
        for (const action of steps) await model.perform(action);
        await model.runDry();
        const { depth, delayed, processing } = model.queue;
        expect({ owed: [...model.owed], depth, delayed, processing }).toEqual({
          owed: [],
          depth: 0,
          delayed: 0,
          processing: 0,
        });
      }),
      { numRuns: 300 },
    );
  });
});

describe('the observer of a queue', () => {
  function observed(options: ConstructorParameters<typeof WorkQueue>[0] = {}) {
    const { clock, queue } = setUp(options);
    const seen: string[] = [];
    queue.observe({
      added: () => seen.push('added'),
      retried: () => seen.push('retried'),
      handedOut: (ms) => seen.push(`handed out after ${ms}`),
      done: (ms) => seen.push(`done after ${ms}`),
    });
    return { clock, queue, seen };
  }

  test('gets one add for a key that is added twice, and one when a key is added while being processed', async () => {
    const { clock, queue, seen } = observed();
    queue.add('a');
    queue.add('a');
    clock.advance(20);
    await take(queue);
    queue.add('a');
    queue.add('a');
    clock.advance(30);
    queue.done('a');
    expect(seen).toEqual(['added', 'handed out after 20', 'done after 30', 'added']);
  });

  test('gets a retry for each delayed add, and the add when the delay is over', async () => {
    const { clock, queue, seen } = observed();
    queue.addAfter('a', 100);
    expect(seen).toEqual(['retried']);
    clock.advance(100);
    expect(seen).toEqual(['retried', 'added']);
    await take(queue);
    queue.addRateLimited('a', 1_000);
    queue.done('a');
    queue.add('a');
    expect(seen.slice(2)).toEqual(['handed out after 0', 'retried', 'done after 0']);
    clock.advance(1_000);
    expect(seen.at(-1)).toBe('added');
  });

  test('gets the add of a held key once, and its wait from its arrival', async () => {
    const { clock, queue, seen } = observed({ held: true });
    queue.add('a');
    queue.add('a');
    clock.advance(50);
    queue.release();
    await take(queue);
    expect(seen).toEqual(['added', 'handed out after 50']);
  });

  test('gets nothing after the shutdown of the queue', () => {
    const { queue, seen } = observed();
    queue.shutdown();
    queue.add('a');
    queue.addAfter('a', 10);
    expect(seen).toEqual([]);
  });
});
