import { type BackoffOptions, fullJitter } from '../../domain/core/backoff.ts';

/** The properties of a failure that determine the next attempt. */
export interface AttemptFailure {
  /** Whether the backend rejected this message. A retry will most likely get the same response. */
  readonly refused: boolean;
  /** Whether the request was sent without a response, so that the backend may still process the request. */
  readonly unanswered?: boolean;
  /** The delay that the backend asks for, in milliseconds. */
  readonly retryAfterMs?: number;
}

/**
 * Backoff from a second to ten minutes. The delays are random, so that a recovered backend does not get all requests at
 * once.
 */
const UNAVAILABLE: BackoffOptions = { baseMs: 1_000, capMs: 600_000 };
const REFUSED_AT_LEAST_MS = 60_000;
const REFUSED: BackoffOptions = { baseMs: 60_000, capMs: 540_000 };
/** Maximum delay. A longer Retry-After is most likely a mistake of the backend. */
const RETRY_AFTER_CAP_MS = 3_600_000;

/** The delay until the next attempt, in milliseconds. @param attempts number of attempts, including the last */
export function retryDelayMs(attempts: number, failure: AttemptFailure, random: () => number): number {
  const asked = Math.min(failure.retryAfterMs ?? 0, RETRY_AFTER_CAP_MS);
  const own = failure.refused
    ? REFUSED_AT_LEAST_MS + fullJitter(attempts - 1, REFUSED, random)
    : fullJitter(attempts - 1, UNAVAILABLE, random);
  return Math.max(asked, own);
}

/** `Retry-After` in milliseconds. The header contains seconds or an HTTP date. undefined for any other value. */
export function parseRetryAfter(header: string | null, now: Date): number | undefined {
  if (header === null) return undefined;
  if (/^\d+$/.test(header.trim())) return Number(header) * 1000;
  // Matches `Thu, 01 Jan 2026 00:01:00 GMT`. Date.parse alone would read `-5` as a year.
  const at = /^[A-Z][a-z]{2}, /.test(header) ? Date.parse(header) : Number.NaN;
  return Number.isNaN(at) ? undefined : Math.max(0, at - now.getTime());
}
