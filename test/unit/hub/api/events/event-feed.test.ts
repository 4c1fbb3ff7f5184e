import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import {
  createEventFeed,
  EVENTS,
  type EventFeed,
  type FeedHorizon,
  nextHorizon,
} from '../../../../../src/hub/api/events/event-feed.ts';
import { createWorkHints } from '../../../../../src/hub/api/listeners/work-hints.ts';

const at = new Date(0);
const horizon = (settled: number, newest = settled) => ({ newest, settled, at });
/** A horizon that a stream has read. */
const known = (settled: number, resets = 0) => ({ ...horizon(settled), resets });
const never = new AbortController().signal;

/** Waits for events of any tenant. */
const wait = async (feed: EventFeed, from: FeedHorizon, ms: number, signal: AbortSignal) =>
  (await feed.beyond({ horizon: from, tenantId: null, ms, signal })).horizon;

/** A feed whose horizon the test sets. */
function world(pollMs = 20) {
  const hints = createWorkHints();
  const state = {
    horizon: horizon(1),
    tenants: null as ReadonlySet<string | null> | null,
    reads: 0,
    error: null as Error | null,
  };
  const read = async () => {
    state.reads += 1;
    if (state.error !== null) throw state.error;
    return { horizon: state.horizon, tenants: state.tenants };
  };
  return { hints, state, feed: createEventFeed(read, hints, { pollMs, minPauseMs: 1 }) };
}

test('wakes every stream when the horizon moves, without a notification', async () => {
  const { feed, state } = world();
  const waits = [1, 1, 1].map((settled) => wait(feed, known(settled), 10_000, never));
  state.horizon = horizon(2);
  expect((await Promise.all(waits)).map(({ settled }) => settled)).toEqual([2, 2, 2]);
});

test('polls at once when a notification arrives', async () => {
  const { feed, state, hints } = world(60_000);
  const waiting = wait(feed, known(1), 50_000, never);
  await sleep(20);
  state.horizon = horizon(2);
  hints.notify([EVENTS]);
  expect((await waiting).settled).toBe(2);
});

test('does not read the database when no stream waits', async () => {
  const { feed, state } = world(5);
  state.horizon = horizon(2);
  await wait(feed, known(1), 10_000, never);
  const { reads } = state;
  await sleep(50);
  expect(state.reads).toBe(reads);
});

test('returns the known horizon when nothing changes or the signal aborts', async () => {
  const { feed } = world();
  expect(await wait(feed, known(1), 10, never)).toEqual(known(1));
  const leaving = new AbortController();
  const waiting = wait(feed, known(1), 60_000, leaving.signal);
  leaving.abort();
  expect(await waiting).toEqual(known(1));
});

test('fails all waiting streams when the database does not respond, and works again afterwards', async () => {
  const { feed, state } = world();
  state.error = new Error('no database');
  const waits = [1, 1].map((settled) => wait(feed, known(settled), 10_000, never));
  for (const { status } of await Promise.allSettled(waits)) expect(status).toBe('rejected');
  state.error = null;
  state.horizon = horizon(3);
  expect((await wait(feed, known(1), 10_000, never)).settled).toBe(3);
});

test('keeps the settled position when a transaction announces an old one', () => {
  expect(nextHorizon(known(5), horizon(3, 7))).toEqual({ ...horizon(5, 7), resets: 0 });
});

test('ends waiting streams when PostgreSQL has lost positions, and accepts the new ones afterwards', async () => {
  const { feed, state } = world();
  state.horizon = horizon(9);
  await feed.now();
  state.horizon = horizon(4);
  await expect(wait(feed, known(9), 10_000, never)).rejects.toThrow(/lost the latest events/);
  expect(await feed.now()).toEqual(known(4, 1));
});

test('ends a stream that did not wait when the positions were lost, even if they have grown again', async () => {
  const { feed, state } = world();
  state.horizon = horizon(9);
  const before = await feed.now();
  feed.check(before);
  state.horizon = horizon(4);
  await feed.now();
  state.horizon = horizon(20);
  const after = await feed.now();
  expect(() => feed.check(before)).toThrow(/lost the latest events/);
  await expect(wait(feed, before, 10_000, never)).rejects.toThrow(/lost the latest events/);
  feed.check(after);
});

test('reads the horizon once at a time when a response takes longer than a later one', async () => {
  const answers = [
    { ms: 40, newest: 10 },
    { ms: 1, newest: 11 },
    { ms: 1, newest: 12 },
  ];
  let open = 0;
  const feed = createEventFeed(
    async () => {
      const { ms, newest } = answers.shift() ?? { ms: 1, newest: 13 };
      open += 1;
      expect(open).toBe(1);
      await sleep(ms);
      open -= 1;
      return { horizon: horizon(newest), tenants: null };
    },
    createWorkHints(),
    { pollMs: 20, minPauseMs: 1 },
  );
  const waiting = wait(feed, known(0), 10_000, never);
  const reads = await Promise.all([feed.now(), feed.now()]);
  expect(reads.map(({ newest }) => newest)).toEqual([10, 10]);
  expect((await waiting).settled).toBe(10);
  expect((await feed.now()).newest).toBeGreaterThan(10);
});

test('polls again when a notification arrives during the read', async () => {
  const hints = createWorkHints();
  let settled = 1;
  const feed = createEventFeed(
    async () => {
      const seen = horizon(settled);
      await sleep(20);
      return { horizon: seen, tenants: null };
    },
    hints,
    { pollMs: 60_000, minPauseMs: 1 },
  );
  const waiting = wait(feed, known(1), 50_000, never);
  await sleep(5);
  settled = 2;
  hints.notify([EVENTS]);
  expect((await waiting).settled).toBe(2);
});

test('wakes only the streams of the tenants with new events, and those of the platform', async () => {
  const { feed, state } = world();
  const beyond = (tenantId: string | null, ms: number) =>
    feed.beyond({ horizon: known(1), tenantId, ms, signal: never });
  state.tenants = new Set(['ours']);
  await feed.now();
  const [ours, theirs, platform] = [beyond('ours', 10_000), beyond('theirs', 100), beyond(null, 10_000)];
  state.horizon = horizon(2);
  expect(await ours).toEqual({ horizon: known(2), hasEvents: true });
  expect(await platform).toEqual({ horizon: known(2), hasEvents: true });
  expect(await theirs).toEqual({ horizon: known(2), hasEvents: false });
  // A stream that was reading does not know whose events are between the horizons.
  expect(await beyond('theirs', 10_000)).toEqual({ horizon: known(2), hasEvents: true });
});
