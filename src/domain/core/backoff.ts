export interface BackoffOptions {
  /** Upper bound of the first delay, in milliseconds. */
  baseMs: number;
  /** Upper bound of every delay, in milliseconds. */
  capMs: number;
}

/** Longest accepted Retry-After. The value may come from a proxy, and clocks may differ. */
const MAX_RETRY_AFTER_MS = 60_000;

/** The Retry-After of a response in milliseconds, up to the limit. */
export function boundedRetryAfter(asked: number | undefined): number | undefined {
  return asked === undefined ? undefined : Math.min(asked, MAX_RETRY_AFTER_MS);
}

/**
 * Exponential backoff with full jitter: a random delay in [0, min(cap, base·2^failures)), in milliseconds.
 * Source: M. Brooker, "Exponential Backoff and Jitter" (AWS Architecture Blog, 2015).
 * @param failures number of earlier failures: 0 for the first failure.
 */
export function fullJitter(
  failures: number,
  { baseMs, capMs }: BackoffOptions,
  random: () => number,
): number {
  let upperBound = baseMs;
  // guard: backoff-grows
  upperBound *= 2 ** Math.min(failures, 52);
  return random() * Math.min(capMs, upperBound);
}
