/** Time that passes, as a dependency, so that tests can turn the hands. */
export interface MonotonicClock {
  /** Milliseconds that never go back; only differences mean something. */
  now(): number;
  /** Calls back after `ms`, or after the longest time of a timer (24 days): look at the time again. Returns the function that cancels it. */
  after(ms: number, callback: () => void): () => void;
}

/** A timer of more fires at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

export const monotonicClock: MonotonicClock = {
  now: () => performance.now(),
  after: (ms, callback) => {
    const timer = setTimeout(callback, Math.min(ms, LONGEST_TIMER_MS));
    return () => clearTimeout(timer);
  },
};
