import { setTimeout as sleep } from 'node:timers/promises';
import type { EventHorizon } from '../../store/events/event-follow.ts';
import { ApiError } from '../core/errors.ts';
import type { WorkHints } from '../listeners/work-hints.ts';

/**
 * Tells the streams of this process how far they can read events. One poll serves all streams, and runs only while
 * streams wait. Notifications shorten the wait, and can be lost.
 */

/** Time between two polls without a notification. */
const POLL_MS = 1_000;
/** Minimum time between two polls, because notifications can be frequent. */
const MIN_PAUSE_MS = 100;

/** The id under which the hints name all events. */
export const EVENTS = 'events';

/** A horizon of the feed. */
export interface FeedHorizon extends EventHorizon {
  /** How often the history was reset before this horizon was read. Positions of different numbers are not comparable. */
  readonly resets: number;
}

export interface EventFeed {
  /** Reads the horizon now. Concurrent calls share one read. @throws StoreError, ApiError 503 */
  now(): Promise<FeedHorizon>;
  /**
   * Resolves with a horizon beyond `horizon`, or with the last known horizon after `ms` or when the signal aborts.
   * @throws StoreError, ApiError 503 when the history was reset after `horizon` was read
   */
  beyond(horizon: FeedHorizon, ms: number, signal: AbortSignal): Promise<FeedHorizon>;
  /** @throws ApiError 503 when the history was reset after `horizon` was read */
  check(horizon: FeedHorizon): void;
}

const RESET =
  'The database lost the latest events in a crash, or was restored from a backup. Read the list of events, and follow without cursor.';
const resetError = () => new ApiError(503, RESET, { retryAfterSeconds: 1 });

/** A waiting stream. */
interface Waiter {
  readonly horizon: FeedHorizon;
  done(): void;
  fail(error: unknown): void;
}

/** The horizon after a read. */
export function nextHorizon(known: FeedHorizon, read: EventHorizon): FeedHorizon {
  // Positions only grow, unless PostgreSQL lost transactions. New events can then have positions that were already read.
  if (read.newest < known.newest) return { ...read, resets: known.resets + 1 };
  // A transaction can announce itself with an old position, but its events get positions above the known horizon.
  return { ...read, settled: Math.max(known.settled, read.settled), resets: known.resets };
}

const NOTHING: FeedHorizon = { newest: 0, settled: 0, at: new Date(0), resets: 0 };

/** @param read reads the horizon from the database */
export function createEventFeed(
  read: () => Promise<EventHorizon>,
  hints: WorkHints,
  { pollMs = POLL_MS, minPauseMs = MIN_PAUSE_MS } = {},
): EventFeed {
  let known = NOTHING;
  let isPolling = false;
  /** The read in flight. Responses of concurrent reads could arrive in another order than the database answered. */
  let reading: Promise<FeedHorizon> | null = null;
  /** The time of the latest read, for notifications that arrive later. */
  let ticket = 0;
  const waiters = new Set<Waiter>();
  const never = new AbortController().signal;

  const check = ({ resets }: FeedHorizon): void => {
    if (resets !== known.resets) throw resetError();
  };

  /** Ends the wait of all streams that the known horizon concerns. */
  const wake = (): void => {
    for (const waiter of waiters) {
      if (waiter.horizon.resets !== known.resets) waiter.fail(resetError());
      else if (known.settled > waiter.horizon.settled) waiter.done();
    }
  };

  const readNext = async (): Promise<FeedHorizon> => {
    ticket = hints.ticket(EVENTS);
    known = nextHorizon(known, await read());
    wake();
    return known;
  };

  const now = (): Promise<FeedHorizon> => {
    reading ??= readNext().finally(() => {
      reading = null;
    });
    return reading;
  };

  const poll = async (): Promise<void> => {
    while (waiters.size > 0) {
      await now();
      if (waiters.size === 0) return;
      await sleep(minPauseMs);
      await hints.wait(EVENTS, ticket, pollMs - minPauseMs, never);
    }
  };

  const start = (): void => {
    if (isPolling) return;
    isPolling = true;
    poll()
      .catch((error: unknown) => {
        for (const waiter of waiters) waiter.fail(error);
      })
      .finally(() => {
        isPolling = false;
        // A stream can begin to wait between the last check and this line.
        if (waiters.size > 0) start();
      });
  };

  return {
    now,
    check,
    async beyond(horizon, ms, signal) {
      check(horizon);
      if (known.settled > horizon.settled || signal.aborted) return known;
      return new Promise((resolve, reject) => {
        const leave = () => {
          clearTimeout(timer);
          signal.removeEventListener('abort', done);
          waiters.delete(waiter);
        };
        const done = () => {
          leave();
          resolve(known);
        };
        const fail = (error: unknown) => {
          leave();
          reject(error);
        };
        const waiter: Waiter = { horizon, done, fail };
        const timer = setTimeout(done, ms);
        signal.addEventListener('abort', done, { once: true });
        waiters.add(waiter);
        start();
      });
    },
  };
}
