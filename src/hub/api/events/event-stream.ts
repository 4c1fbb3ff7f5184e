import type { EventRecord } from '../../store/core/events.ts';
import type { EventPlace, EventsAfter } from '../../store/events/event-follow.ts';
import { streamCursor } from './event-cursor.ts';
import type { EventFeed, FeedHorizon } from './event-feed.ts';
import { FOLLOW_MS } from './event-query.ts';
import { presentEvent } from './event-schema.ts';

/** Streams events: the stored ones after a place, and then new ones. */

/** How often a stream without events checks its key and whether it must end. */
const CHECK_MS = 5_000;
/**
 * Time for which a stream waits after `until`, because the time of an event is the begin of its transaction, which commits
 * later.
 */
const LATE_EVENTS_MS = 10_000;

/** Facts that decide whether a stream ends. */
export interface StreamState {
  /** Whether the server shuts down, or the client has disconnected. */
  readonly aborted: boolean;
  /** Whether the API key is still valid. */
  readonly allowed: boolean;
  /** Time since the begin of the stream. */
  readonly elapsedMs: number;
  /** Whether all events up to the horizon were sent. */
  readonly caughtUp: boolean;
  /** The end that the client requested. */
  readonly until: Date | undefined;
  /** The time of the horizon. */
  readonly at: Date;
}

/** The reason to end a stream; null: the stream continues. The first rule that matches applies. */
export function streamEnd(state: StreamState): string | null {
  const { until } = state;
  if (!state.allowed) return 'The API key is no longer valid.';
  if (until !== undefined && state.caughtUp && state.at.getTime() >= until.getTime() + LATE_EVENTS_MS)
    return 'All events before the time `until` were sent.';
  if (state.aborted) return 'The API shuts down: ask again with the last cursor.';
  if (state.elapsedMs >= FOLLOW_MS) return 'The time limit is reached: ask again with the last cursor.';
  return null;
}

/** What a stream needs. */
export interface EventFollower {
  readonly feed: EventFeed;
  /** The place after which the stream begins, and the horizon at that time. */
  readonly place: EventPlace;
  readonly horizon: FeedHorizon;
  /** Reads the next matching events up to a position. */
  read(place: EventPlace, settled: number): Promise<EventsAfter>;
  /** Whether the API key is still valid. */
  isAllowed(): Promise<boolean>;
  readonly until: Date | undefined;
  /** Aborts when the client disconnects or the server shuts down. */
  readonly signal: AbortSignal;
}

const lineOf = (event: EventRecord) => ({ ...presentEvent(event), cursor: streamCursor(event) });

/**
 * Yields batches of lines. The next batch is read when the client has taken the previous one, so a slow client delays
 * only its own stream. An empty batch is a keepalive.
 */
export async function* followEvents(follower: EventFollower): AsyncGenerator<readonly object[]> {
  const { feed, signal, until } = follower;
  const startedAt = performance.now();
  let { place, horizon } = follower;
  for (;;) {
    const allowed = await follower.isAllowed();
    const { events, more, ...read } = allowed
      ? await follower.read(place, horizon.settled)
      : { events: [], more: false, place };
    place = read.place;
    // The response begins with the first batch, also when no event matches.
    if (allowed) yield events.map(lineOf);
    const state = { aborted: signal.aborted, allowed, caughtUp: !more, until, at: horizon.at };
    const end = streamEnd({ ...state, elapsedMs: performance.now() - startedAt });
    if (end !== null) {
      yield [{ end, cursor: streamCursor(place) }];
      return;
    }
    // While the client took the lines, positions up to the horizon can have been assigned to other events.
    if (more) feed.check(horizon);
    else horizon = await feed.beyond(horizon, CHECK_MS, signal);
  }
}
