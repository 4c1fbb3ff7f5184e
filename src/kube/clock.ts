/** Time as a dependency, so that tests can turn the hands. */
export interface Clock {
  /** Milliseconds that never go back (monotonic); only differences mean something. */
  now(): number;
  /** Wall clock, for what is written into objects. */
  date(): Date;
  /** Calls back after `ms`. Returns the function that cancels it. */
  after(ms: number, callback: () => void): () => void;
}

export const systemClock: Clock = {
  now: () => performance.now(),
  date: () => new Date(),
  after: (ms, callback) => {
    const timer = setTimeout(callback, ms);
    return () => clearTimeout(timer);
  },
};

/** Resolves after `ms`, or at once when the signal fires (look at the signal afterwards). */
export function sleep(clock: Clock, ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const finish = () => {
      cancel();
      signal?.removeEventListener('abort', finish);
      resolve();
    };
    const cancel = clock.after(ms, finish);
    signal?.addEventListener('abort', finish, { once: true });
  });
}
