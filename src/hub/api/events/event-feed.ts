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

export interface EventFeed {
  /** Reads the horizon now. @throws StoreError, ApiError 503 */
  now(): Promise<EventHorizon>;
  /**
   * Resolves with a horizon beyond the position `settled`, or with the last known horizon after `ms` or when the signal
   * aborts.
   * @throws StoreError, ApiError 503 when the history was reset
   */
  beyond(settled: number, ms: number, signal: AbortSignal): Promise<EventHorizon>;
}

const RESET =
  'The database lost the latest events in a crash, or was restored from a backup. Read the list of events, then ask again.';

/** A waiting stream. */
interface Waiter {
  readonly settled: number;
  done(): void;
  fail(error: unknown): void;
}

/** The later of two horizons. @throws ApiError 503 */
export function laterHorizon(known: EventHorizon, read: EventHorizon): EventHorizon {
  // Positions only grow, unless PostgreSQL lost transactions. New events can then have positions that were already read.
  if (read.newest < known.newest) throw new ApiError(503, RESET, { retryAfterSeconds: 1 });
  // A transaction can announce itself with an old position, but its events get positions above the known horizon.
  return { ...read, settled: Math.max(known.settled, read.settled) };
}

const NOTHING: EventHorizon = { newest: 0, settled: 0, at: new Date(0) };

/** @param read reads the horizon from the database */
export function createEventFeed(
  read: () => Promise<EventHorizon>,
  hints: WorkHints,
  { pollMs = POLL_MS, minPauseMs = MIN_PAUSE_MS } = {},
): EventFeed {
  let known = NOTHING;
  let isPolling = false;
  const waiters = new Set<Waiter>();
  const never = new AbortController().signal;

  const now = async (): Promise<EventHorizon> => {
    const later = await read();
    try {
      known = laterHorizon(known, later);
    } catch (error) {
      known = later;
      throw error;
    }
    return known;
  };

  const poll = async (): Promise<void> => {
    while (waiters.size > 0) {
      const ticket = hints.ticket(EVENTS);
      await now();
      for (const waiter of waiters) if (known.settled > waiter.settled) waiter.done();
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
    beyond(settled, ms, signal) {
      if (known.settled > settled || signal.aborted) return Promise.resolve(known);
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
        const waiter: Waiter = { settled, done, fail };
        const timer = setTimeout(done, ms);
        signal.addEventListener('abort', done, { once: true });
        waiters.add(waiter);
        start();
      });
    },
  };
}
