/**
 * Wakes requests that wait for work when PostgreSQL hints that there may be some.
 * Only ever a hint: whoever waits looks again after a while without one.
 */
export interface WorkHints {
  /** Stands for "now": taken before looking for work, so that no hint falls between looking and waiting. */
  ticket(listenerId: string): number;
  /**
   * Resolves at the next hint for the listener since the ticket, after `ms`, or when the signal fires.
   * @returns whether there was one for it by name: there mostly is work, then
   */
  wait(listenerId: string, ticket: number, ms: number, signal: AbortSignal): Promise<boolean>;
  /** These listeners may have work. */
  notify(listenerIds: Iterable<string>): void;
  /** Any listener may have work. */
  notifyAll(): void;
  /** How many ids are remembered: those that were hinted at last, a bounded number. */
  readonly size: number;
}

/** Far more than are hinted at while somebody looks. */
const MOST_REMEMBERED = 10_000;

/**
 * Hints within this process; feed it from hub/store/core/notifications.ts.
 * @param most ids that are remembered. A ticket from before what was forgotten counts as hinted: rather a look in vain
 *   than a hint that is missed.
 */
export function createWorkHints(most = MOST_REMEMBERED): WorkHints {
  // One counter for all: a ticket is older than every later hint, whichever listener it is for.
  let count = 0;
  // The newest hint for all, or of an id that was forgotten.
  let lastForAll = 0;
  // In the order of the hints.
  const last = new Map<string, number>();
  const waiting = new Map<string, Set<(named: boolean) => void>>();

  const wake = (listenerId: string, named: boolean) => {
    for (const resolve of waiting.get(listenerId) ?? []) resolve(named);
  };
  const forget = () => {
    if (last.size <= most) return;
    // Half at once: the first of a map is found the slower, the more before it were deleted.
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
