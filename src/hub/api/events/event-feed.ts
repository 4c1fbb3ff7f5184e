import { setTimeout as sleep } from 'node:timers/promises';
import type { EventHorizon, EventProgress } from '../../store/events/event-follow.ts';
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

/** What a stream waits for. */
export interface FeedWait {
  /** The horizon up to which the stream has read. */
  readonly horizon: FeedHorizon;
  /** null: events of all tenants and of the platform. */
  readonly tenantId: string | null;
  readonly ms: number;
  readonly signal: AbortSignal;
}

export interface FeedResult {
  /** The last known horizon. */
  readonly horizon: FeedHorizon;
  /** false: the tenant has no event between both horizons, so nothing must be read. */
  readonly hasEvents: boolean;
}

export interface EventFeed {
  /** Reads the horizon now. Concurrent calls share one read. @throws StoreError, ApiError 503 */
  now(): Promise<FeedHorizon>;
  /**
   * Resolves when the tenant can have events beyond a horizon, and otherwise after `ms` or when the signal aborts.
   * @throws StoreError, ApiError 503 when the history was reset after the horizon was read
   */
  beyond(wait: FeedWait): Promise<FeedResult>;
  /** @throws ApiError 503 when the history was reset after `horizon` was read */
  check(horizon: FeedHorizon): void;
}

const RESET =
  'The database lost the latest events in a crash, or was restored from a backup. Read the list of events, and follow without cursor.';
const resetError = () => new ApiError(503, RESET, { retryAfterSeconds: 1 });

/** A waiting stream. */
interface Waiter {
  readonly horizon: FeedHorizon;
  readonly tenantId: string | null;
  done(hasEvents: boolean): void;
  fail(error: unknown): void;
}

/** The horizon after a read. */
export function nextHorizon(known: FeedHorizon, read: EventHorizon): FeedHorizon {
  // Positions only grow, unless PostgreSQL lost transactions. New events can then have positions that were already read.
  if (read.newest < known.newest) return { ...read, resets: known.resets + 1 };
  // A transaction can announce itself with an old position, but its events get positions above the known horizon.
  return { ...read, settled: Math.max(known.settled, read.settled), resets: known.resets };
}

/** Whether a stream must read. A stream of the platform reads the events of all tenants. */
function concerns(tenants: EventProgress['tenants'], tenantId: string | null): boolean {
  if (tenants === null) return true;
  return tenantId === null ? tenants.size > 0 : tenants.has(tenantId);
}

const NOTHING: FeedHorizon = { newest: 0, settled: 0, at: new Date(0), resets: 0 };

/** @param read reads the horizon from the database, and the tenants with events after a position */
export function createEventFeed(
  read: (after: number) => Promise<EventProgress>,
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

  /** Ends the wait of the streams of these tenants. All other streams only skip the positions. */
  const wake = (tenants: EventProgress['tenants']): void => {
    for (const waiter of waiters) {
      const { horizon, tenantId } = waiter;
      if (horizon.resets !== known.resets) waiter.fail(resetError());
      else if (known.settled > horizon.settled && concerns(tenants, tenantId)) waiter.done(true);
    }
  };

  const readNext = async (): Promise<FeedHorizon> => {
    ticket = hints.ticket(EVENTS);
    const { horizon, tenants } = await read(known.settled);
    known = nextHorizon(known, horizon);
    wake(tenants);
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
    async beyond({ horizon, tenantId, ms, signal }) {
      check(horizon);
      if (known.settled > horizon.settled) return { horizon: known, hasEvents: true };
      if (signal.aborted) return { horizon: known, hasEvents: false };
      return new Promise((resolve, reject) => {
        const leave = () => {
          clearTimeout(timer);
          signal.removeEventListener('abort', skip);
          waiters.delete(waiter);
        };
        const done = (hasEvents: boolean) => {
          leave();
          resolve({ horizon: known, hasEvents });
        };
        const skip = () => done(false);
        const fail = (error: unknown) => {
          leave();
          reject(error);
        };
        const waiter: Waiter = { horizon, tenantId, done, fail };
        const timer = setTimeout(skip, ms);
        signal.addEventListener('abort', skip, { once: true });
        waiters.add(waiter);
        start();
      });
    },
  };
}
