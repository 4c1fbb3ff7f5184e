export interface BackoffOptions {
  /** Upper bound of the first delay, in milliseconds. */
  baseMs: number;
  /** Upper bound of every delay, in milliseconds. */
  capMs: number;
}

/** Longest wait that an answer may ask for: it may come from whatever stands before the server, and clocks differ. */
const MAX_RETRY_AFTER_MS = 60_000;

/** What an answer asks for with Retry-After, in milliseconds, as far as that is waited for. */
export function boundedRetryAfter(asked: number | undefined): number | undefined {
  return asked === undefined ? undefined : Math.min(asked, MAX_RETRY_AFTER_MS);
}

/**
 * Exponential backoff with full jitter: a random delay in [0, min(cap, base·2^failures)), in milliseconds.
 * Source: M. Brooker, "Exponential Backoff and Jitter" (AWS Architecture Blog, 2015).
 * @param failures failures before this one: 0 for the first.
 */
export function fullJitter(
  failures: number,
  { baseMs, capMs }: BackoffOptions,
  random: () => number,
): number {
  return random() * Math.min(capMs, baseMs * 2 ** Math.min(failures, 52));
}
