import { type MonotonicClock, monotonicClock } from '../../../domain/core/monotonic-clock.ts';

/** Time as a dependency, including the time of day. */
export interface Clock extends MonotonicClock {
  /** Wall clock, for timestamps in objects, and to detect that the machine was suspended. */
  date(): Date;
}

export const systemClock: Clock = { ...monotonicClock, date: () => new Date() };

/** Resolves after `ms`, or at once when the signal fires. Callers check the signal afterwards. */
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
