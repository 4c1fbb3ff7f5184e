/** A monotonic clock, as a dependency, so that tests can control it. */
export interface MonotonicClock {
  /** Monotonic milliseconds. The current time in ms. Only differences are meaningful. */
  now(): number;
  /**
   * Calls back after `ms`, or after the longest possible timer (24 days), so callers check the time. Returns the
   * function that cancels the timer.
   */
  after(ms: number, callback: () => void): () => void;
}

/** The longest possible timer. A longer timer would fire at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

export const monotonicClock: MonotonicClock = {
  now: () => performance.now(),
  after: (ms, callback) => {
    const timer = setTimeout(callback, Math.min(ms, LONGEST_TIMER_MS));
    return () => clearTimeout(timer);
  },
};
