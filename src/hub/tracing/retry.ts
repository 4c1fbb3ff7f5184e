import { type BackoffOptions, fullJitter } from '../../domain/core/backoff.ts';

/** Why an attempt failed, as far as the next one depends on it. */
export interface Failure {
  /** The backend said no to this very message: the next answer will most likely be the same. */
  readonly refused: boolean;
  /** The call went out and nothing came back: the backend may still be about to do it. */
  readonly unanswered?: boolean;
  /** The backend asks to wait that long, in milliseconds. */
  readonly retryAfterMs?: number;
}

/** From the first second to the tenth minute of an outage, no backend that comes back is met by all at once. */
const UNAVAILABLE: BackoffOptions = { baseMs: 1_000, capMs: 600_000 };
const REFUSED_AT_LEAST_MS = 60_000;
const REFUSED: BackoffOptions = { baseMs: 60_000, capMs: 540_000 };
/** A backend that asks for more than this has most likely made a mistake. */
const RETRY_AFTER_CAP_MS = 3_600_000;

/**
 * When to send a message again, in milliseconds from now.
 * @param attempts made so far, this one included
 */
export function retryDelayMs(attempts: number, failure: Failure, random: () => number): number {
  const asked = Math.min(failure.retryAfterMs ?? 0, RETRY_AFTER_CAP_MS);
  const own = failure.refused
    ? REFUSED_AT_LEAST_MS + fullJitter(attempts - 1, REFUSED, random)
    : fullJitter(attempts - 1, UNAVAILABLE, random);
  return Math.max(asked, own);
}

/** `Retry-After` in milliseconds: it holds seconds or an HTTP date; undefined for anything else. */
export function parseRetryAfter(header: string | null, now: Date): number | undefined {
  if (header === null) return undefined;
  if (/^\d+$/.test(header.trim())) return Number(header) * 1000;
  // `Thu, 01 Jan 2026 00:01:00 GMT`; Date.parse takes `-5` for a year.
  const at = /^[A-Z][a-z]{2}, /.test(header) ? Date.parse(header) : Number.NaN;
  return Number.isNaN(at) ? undefined : Math.max(0, at - now.getTime());
}
