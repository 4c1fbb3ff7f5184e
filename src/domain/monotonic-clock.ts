/** Time that passes, as a dependency, so that tests can turn the hands. */
export interface MonotonicClock {
  /** Milliseconds that never go back; only differences mean something. */
  now(): number;
  /** Calls back after `ms`. Returns the function that cancels it. */
  after(ms: number, callback: () => void): () => void;
}

export const monotonicClock: MonotonicClock = {
  now: () => performance.now(),
  after: (ms, callback) => {
    const timer = setTimeout(callback, ms);
    return () => clearTimeout(timer);
  },
};
