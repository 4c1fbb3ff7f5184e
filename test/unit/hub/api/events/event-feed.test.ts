import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createEventFeed, EVENTS, laterHorizon } from '../../../../../src/hub/api/events/event-feed.ts';
import { createWorkHints } from '../../../../../src/hub/api/listeners/work-hints.ts';

const at = new Date(0);
const horizon = (settled: number, newest = settled) => ({ newest, settled, at });
const never = new AbortController().signal;

/** A feed whose horizon the test sets. */
function world(pollMs = 20) {
  const hints = createWorkHints();
  const state = { horizon: horizon(1), reads: 0, error: null as Error | null };
  const read = async () => {
    state.reads += 1;
    if (state.error !== null) throw state.error;
    return state.horizon;
  };
  return { hints, state, feed: createEventFeed(read, hints, { pollMs, minPauseMs: 1 }) };
}

test('wakes every stream when the horizon moves, without a notification', async () => {
  const { feed, state } = world();
  const waits = [1, 1, 1].map((settled) => feed.beyond(settled, 10_000, never));
  state.horizon = horizon(2);
  expect((await Promise.all(waits)).map(({ settled }) => settled)).toEqual([2, 2, 2]);
});

test('polls at once when a notification arrives', async () => {
  const { feed, state, hints } = world(60_000);
  const wait = feed.beyond(1, 50_000, never);
  await sleep(20);
  state.horizon = horizon(2);
  hints.notify([EVENTS]);
  expect((await wait).settled).toBe(2);
});

test('does not read the database when no stream waits', async () => {
  const { feed, state } = world(5);
  state.horizon = horizon(2);
  await feed.beyond(1, 10_000, never);
  const { reads } = state;
  await sleep(50);
  expect(state.reads).toBe(reads);
});

test('returns the known horizon when nothing changes or the signal aborts', async () => {
  const { feed } = world();
  expect(await feed.beyond(1, 10, never)).toEqual(horizon(1));
  const leaving = new AbortController();
  const wait = feed.beyond(1, 60_000, leaving.signal);
  leaving.abort();
  expect(await wait).toEqual(horizon(1));
});

test('fails all waiting streams when the database does not respond, and works again afterwards', async () => {
  const { feed, state } = world();
  state.error = new Error('no database');
  const waits = [1, 1].map((settled) => feed.beyond(settled, 10_000, never));
  for (const { status } of await Promise.allSettled(waits)) expect(status).toBe('rejected');
  state.error = null;
  state.horizon = horizon(3);
  expect((await feed.beyond(1, 10_000, never)).settled).toBe(3);
});

test('keeps the settled position when a transaction announces an old one', () => {
  expect(laterHorizon(horizon(5), horizon(3, 7))).toEqual(horizon(5, 7));
});

test('ends streams when PostgreSQL has lost positions, and accepts the new ones afterwards', async () => {
  const { feed, state } = world();
  state.horizon = horizon(9);
  await feed.now();
  state.horizon = horizon(4);
  await expect(feed.beyond(9, 10_000, never)).rejects.toThrow(/lost the latest events/);
  expect(await feed.now()).toEqual(horizon(4));
});
