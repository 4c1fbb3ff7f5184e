import type { StreamEnd } from '../../../domain/core/stream-end.ts';
import type { EventRecord } from '../../store/core/events.ts';
import type { EventHorizon, EventPlace, EventsAfter } from '../../store/events/event-follow.ts';
import type { LostRights } from '../core/line-stream.ts';
import { streamCursor } from './event-cursor.ts';
import type { EventFeed, FeedHorizon } from './event-feed.ts';
import { FOLLOW_MS } from './event-query.ts';
import { presentEvent } from './event-schema.ts';

/** Streams events: the stored ones after a place, and then new ones. */

/** How often a stream without events checks its key and whether it must end. */
const CHECK_MS = 5_000;
/**
 * Time for which a stream waits after `until`, because the time of an event is the start of its transaction, which takes
 * its position later.
 */
const LATE_EVENTS_MS = 10_000;

/**
 * The position at which a stream with `until` is complete: the newest position of the first horizon after `until` and
 * the time for late events. Transactions that are open at this time can have taken positions up to it.
 * @param known the position that an earlier horizon determined
 * @returns null: no horizon has determined it yet
 */
export function lastPosition(
  known: number | null,
  until: Date | undefined,
  { at, newest }: Pick<EventHorizon, 'at' | 'newest'>,
): number | null {
  if (known !== null || until === undefined) return known;
  return at.getTime() >= until.getTime() + LATE_EVENTS_MS ? newest : null;
}

/** Facts that decide whether a stream ends. */
export interface StreamState {
  /** Whether the server shuts down, or the client has disconnected. */
  readonly aborted: boolean;
  /** Whether the caller still has the right to read. */
  readonly allowed: boolean;
  /** The end of a stream whose caller lost this right; absent: the API key ended. */
  readonly denied?: StreamEnd | undefined;
  /** Time since the start of the stream. */
  readonly elapsedMs: number;
  /** The position up to which all events were sent; null: more events follow up to the horizon. */
  readonly sent: number | null;
  /** The position at which the stream is complete; null: not known, or the stream has no end. */
  readonly last: number | null;
}

const KEY_ENDED: StreamEnd = { end: 'The API key is no longer valid.', reason: 'denied' };
const AGAIN = 'Send the request again with the last cursor.';

/** The end of a stream; null: the stream continues. The first rule that matches applies. */
export function streamEnd(state: StreamState): StreamEnd | null {
  const { aborted, allowed, denied = KEY_ENDED, elapsedMs, sent, last } = state;
  if (!allowed) return denied;
  if (last !== null && sent !== null && sent >= last)
    return { end: 'All events before the time `until` were sent.', reason: 'complete' };
  if (aborted) return { end: `The API shuts down. ${AGAIN}`, reason: 'continue' };
  if (elapsedMs >= FOLLOW_MS) return { end: `The time limit is reached. ${AGAIN}`, reason: 'continue' };
  return null;
}

/** What a stream needs. */
export interface EventFollower {
  readonly feed: EventFeed;
  /** null: events of all tenants and of the platform. */
  readonly tenantId: string | null;
  /** The place after which the stream starts, and the horizon at that time. */
  readonly place: EventPlace;
  readonly horizon: FeedHorizon;
  /** Reads the next matching events up to a position. */
  read(place: EventPlace, settled: number): Promise<EventsAfter>;
  /** Whether the caller still has the right to read. */
  isAllowed(): Promise<boolean>;
  /** Absent: the rights of the caller are checked only between reads. */
  readonly lost?: LostRights;
  readonly until: Date | undefined;
  /** Aborts when the client disconnects, the server shuts down, or the caller loses its rights. */
  readonly signal: AbortSignal;
}

const lineOf = (event: EventRecord) => ({ ...presentEvent(event), cursor: streamCursor(event) });

/**
 * The last line. A complete stream has no cursor, because its place is after events at or after `until`, and a stream of
 * the next range would miss them.
 */
const endLine = (end: StreamEnd, place: EventPlace) =>
  end.reason === 'complete' ? end : { ...end, cursor: streamCursor(place) };

/**
 * Yields batches of lines. The next batch is read when the client has taken the previous one, so a slow client delays
 * only its own stream. An empty batch is a keepalive.
 */
export async function* followEvents(follower: EventFollower): AsyncGenerator<readonly object[]> {
  const { feed, lost, signal, tenantId, until } = follower;
  const startedAt = performance.now();
  let { place, horizon } = follower;
  let last: number | null = null;
  let hasEvents = true;
  for (;;) {
    const allowed = await follower.isAllowed();
    let more = false;
    let events: readonly EventRecord[] = [];
    if (allowed && hasEvents) ({ events, more, place } = await follower.read(place, horizon.settled));
    // The response starts with the first batch, also when no event matches.
    if (allowed) yield events.map(lineOf);
    last = lastPosition(last, until, horizon);
    const sent = more ? null : horizon.settled;
    const elapsedMs = performance.now() - startedAt;
    const end = streamEnd({
      aborted: signal.aborted,
      allowed: allowed && lost?.signal.aborted !== true,
      denied: lost?.end,
      elapsedMs,
      sent,
      last,
    });
    if (end !== null) {
      yield [endLine(end, place)];
      return;
    }
    // While the client took the lines, positions up to the horizon can have been assigned to other events.
    if (more) feed.check(horizon);
    else ({ horizon, hasEvents } = await feed.beyond({ horizon, tenantId, ms: CHECK_MS, signal }));
  }
}
