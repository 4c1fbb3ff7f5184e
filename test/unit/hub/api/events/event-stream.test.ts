import { expect, test } from 'vitest';
import { KEY_ENDED } from '../../../../../src/hub/api/core/open-streams.ts';
import type { EventFeed } from '../../../../../src/hub/api/events/event-feed.ts';
import { FOLLOW_MS } from '../../../../../src/hub/api/events/event-query.ts';
import {
  type EventFollower,
  followEvents,
  lastPosition,
  type StreamState,
  streamEnd,
} from '../../../../../src/hub/api/events/event-stream.ts';
import type { EventRecord } from '../../../../../src/hub/store/core/events.ts';
import { BEFORE_ALL } from '../../../../../src/hub/store/events/event-follow.ts';

const at = new Date('2026-11-29T12:00:00Z');
const running: StreamState = {
  aborted: false,
  revoked: null,
  elapsedMs: 0,
  sent: 9,
  last: null,
};
const seconds = (count: number) => new Date(at.getTime() + count * 1000);

test.each([
  { when: 'nothing ends it', state: {}, end: null },
  { when: 'the key is revoked', state: { revoked: KEY_ENDED, aborted: true }, end: 'denied' },
  { when: 'the server shuts down', state: { aborted: true }, end: 'continue' },
  { when: 'the time limit is reached', state: { elapsedMs: FOLLOW_MS }, end: 'continue' },
  { when: 'all events are sent', state: { last: 9, aborted: true }, end: 'complete' },
  { when: 'an open transaction holds events back', state: { last: 10 }, end: null },
  { when: 'more events follow', state: { last: 9, sent: null }, end: null },
])('decides about the end of a stream when $when', ({ state, end }) => {
  expect(streamEnd({ ...running, ...state })?.reason ?? null).toBe(end);
});

test.each([
  { when: 'the time for late events has passed', until: seconds(-10), position: 7 },
  { when: 'late events can follow', until: seconds(-9), position: null },
  { when: 'no end was requested', until: undefined, position: null },
])('determines the last position when $when', ({ until, position }) => {
  expect(lastPosition(null, until, { at, newest: 7 })).toBe(position);
});

test('keeps the last position when the newest position grows', () => {
  expect(lastPosition(5, seconds(-10), { at, newest: 7 })).toBe(5);
});

const record = (position: number): EventRecord => ({
  id: `0198a000-0000-7000-8000-${String(position).padStart(12, '0')}`,
  tenantId: null,
  deploymentId: null,
  revisionId: null,
  listenerId: null,
  at,
  actorKind: 'system',
  actorId: null,
  actorName: 'test',
  reason: 'Patched',
  message: `event ${position}`,
  details: {},
  position,
});

/** A follower of `stored` events, two in each read. */
function follower(
  stored: number,
  { feed = {}, ...more }: Partial<Omit<EventFollower, 'feed'>> & { feed?: Partial<EventFeed> } = {},
) {
  const reads: number[] = [];
  const horizon = { newest: stored, settled: stored, at, resets: 0 };
  const leaving = new AbortController();
  const all = Array.from({ length: stored }, (_, index) => record(index + 1));
  const lines = followEvents({
    feed: {
      now: async () => horizon,
      beyond: async () => ({ horizon, hasEvents: false }),
      check: () => undefined,
      ...feed,
    },
    tenantId: null,
    place: BEFORE_ALL,
    horizon,
    async read(place, settled) {
      reads.push(place.position);
      const events = all
        .filter(({ position }) => position > place.position && position <= settled)
        .slice(0, 2);
      return { events, place: events.at(-1) ?? place, more: events.length === 2 };
    },
    revoked: new AbortController().signal,
    until: undefined,
    signal: leaving.signal,
    ...more,
  });
  return { lines, reads, leave: () => leaving.abort() };
}

test('reads the next events only after the client has taken the previous ones', async () => {
  const { lines, reads } = follower(5);
  expect(reads).toEqual([]);
  await lines.next();
  expect(reads).toEqual([0]);
  await lines.next();
  expect(reads).toEqual([0, 2]);
});

test('begins with an empty batch when no event is stored', async () => {
  const { lines } = follower(0);
  expect(await lines.next()).toEqual({ done: false, value: [] });
});

test('sends each event with its cursor, and the last cursor with the end', async () => {
  const { lines, leave } = follower(3);
  const seen: object[] = [];
  for await (const batch of lines) {
    seen.push(...batch);
    if (seen.length === 3) leave();
  }
  const cursor = (position: number) => `${position}_${record(position).id}`;
  expect(seen).toMatchObject([
    { message: 'event 1', cursor: cursor(1) },
    { message: 'event 2', cursor: cursor(2) },
    { message: 'event 3', cursor: cursor(3) },
    { end: expect.stringContaining('shuts down'), reason: 'continue', cursor: cursor(3) },
  ]);
});

test('sends nothing more when the key is revoked while the client does not read', async () => {
  const revoking = new AbortController();
  const { lines, reads } = follower(5, { revoked: revoking.signal });
  await lines.next();
  revoking.abort(KEY_ENDED);
  expect((await lines.next()).value).toEqual([
    { end: 'The API key is no longer valid.', reason: 'denied', cursor: expect.stringMatching(/^2_/) },
  ]);
  expect(await lines.next()).toEqual({ done: true, value: undefined });
  expect(reads).toEqual([0]);
});

test('reads nothing more when the history was reset while the client took the lines', async () => {
  const lost = () => {
    throw new Error('the history was reset');
  };
  const { lines, reads } = follower(5, { feed: { check: lost } });
  await lines.next();
  await expect(lines.next()).rejects.toThrow('the history was reset');
  expect(reads).toEqual([0]);
});

test('ends with until only when the settled position has reached the newest one of that time', async () => {
  const late = { newest: 5, settled: 3, at, resets: 0 };
  const horizons = [
    { ...late, newest: 8, settled: 4 },
    { ...late, newest: 9, settled: 6 },
  ];
  const { lines } = follower(9, {
    horizon: late,
    until: seconds(-10),
    feed: { beyond: async () => ({ horizon: horizons.shift() ?? late, hasEvents: true }) },
  });
  const seen: object[] = [];
  for await (const batch of lines) seen.push(...batch);
  const messages = [1, 2, 3, 4, 5, 6].map((position) => ({ message: `event ${position}` }));
  expect(seen).toMatchObject([...messages, { reason: 'complete' }]);
  // The next range would miss the events that `until` left out.
  expect(seen.at(-1)).not.toHaveProperty('cursor');
});

test('reads nothing when its tenant has no event before the new horizon', async () => {
  let waits = 0;
  const { lines, reads, leave } = follower(1, {
    feed: {
      beyond: async ({ horizon }) => {
        waits += 1;
        if (waits === 3) leave();
        return { horizon: { ...horizon, settled: horizon.settled + 1 }, hasEvents: false };
      },
    },
  });
  const seen: object[] = [];
  for await (const batch of lines) seen.push(...batch);
  expect(seen).toMatchObject([{ message: 'event 1' }, { reason: 'continue' }]);
  expect(reads).toEqual([0]);
  expect(waits).toBe(3);
});
