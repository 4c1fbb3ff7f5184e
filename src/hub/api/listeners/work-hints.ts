/**
 * Wakes requests that wait for work when PostgreSQL notifies of new work. Notifications can be lost, so a waiting
 * request also queries after a timeout.
 */
export interface WorkHints {
  /**
   * A ticket for the current time. The ticket must be taken before the query for work, so that no notification between
   * query and wait is missed.
   */
  ticket(listenerId: string): number;
  /**
   * Resolves at the next notification for the listener since the ticket, after `ms`, or when the signal aborts.
   * @returns whether a notification named the listener, which mostly means that work is due
   */
  wait(listenerId: string, ticket: number, ms: number, signal: AbortSignal): Promise<boolean>;
  /** Called when the given listeners may have work. */
  notify(listenerIds: Iterable<string>): void;
  /** Called when any listener may have work. */
  notifyAll(): void;
  /** Number of remembered ids. The number is bounded, and the ids of the latest notifications are kept. */
  readonly size: number;
}

/** Default number of remembered ids, far more than are notified between a query and its wait. */
const MAX_REMEMBERED = 10_000;

/**
 * Distributes notifications within this process. hub/store/core/notifications.ts provides them.
 * @param most maximum number of remembered ids. A ticket that is older than a removed id counts as notified, because an
 *   unnecessary query is better than a missed notification.
 */
export function createWorkHints(most = MAX_REMEMBERED): WorkHints {
  // One counter for all listeners. A ticket is older than every later notification.
  let count = 0;
  // The latest notification for all listeners, or for a removed id.
  let lastForAll = 0;
  // The latest notification of each id, in the order of the notifications.
  const last = new Map<string, number>();
  const waiting = new Map<string, Set<(named: boolean) => void>>();

  const wake = (listenerId: string, named: boolean) => {
    for (const resolve of waiting.get(listenerId) ?? []) resolve(named);
  };
  const forget = () => {
    if (last.size <= most) return;
    // Removes half of the ids at once, because the search for the first entry of a map becomes slower with each deleted
    // entry before it.
    for (const [listenerId, hint] of last) {
      if (last.size <= most / 2) return;
      last.delete(listenerId);
      lastForAll = Math.max(lastForAll, hint);
    }
  };
  const isNamed = (listenerId: string, ticket: number) => (last.get(listenerId) ?? 0) > ticket;

  return {
    ticket: () => count,
    wait(listenerId, ticket, ms, signal) {
      if (signal.aborted) return Promise.resolve(false);
      if (isNamed(listenerId, ticket)) return Promise.resolve(true);
      if (lastForAll > ticket) return Promise.resolve(false);
      return new Promise((resolve) => {
        const waiters = waiting.get(listenerId) ?? new Set();
        waiting.set(listenerId, waiters);
        const finish = (named: boolean) => {
          clearTimeout(timer);
          signal.removeEventListener('abort', end);
          waiters.delete(finish);
          if (waiters.size === 0) waiting.delete(listenerId);
          resolve(named);
        };
        const end = () => finish(false);
        const timer = setTimeout(end, ms);
        signal.addEventListener('abort', end, { once: true });
        waiters.add(finish);
      });
    },
    notify(listenerIds) {
      for (const listenerId of listenerIds) {
        count += 1;
        last.delete(listenerId);
        last.set(listenerId, count);
        forget();
        wake(listenerId, true);
      }
    },
    notifyAll() {
      count += 1;
      lastForAll = count;
      last.clear();
      for (const listenerId of [...waiting.keys()]) wake(listenerId, false);
    },
    get size() {
      return last.size;
    },
  };
}
