import { type Clock, systemClock } from './clock.ts';
import { isKubeError } from './errors.ts';

/** So many refusals in a row, with no success between, mean that the server is overloaded, not that one object is. */
const REFUSALS_IN_A_ROW = 3;
const MAX_PAUSE_MS = 30_000;

export interface LimiterOptions {
  maxInFlight: number;
  clock?: Clock;
}

/**
 * Bounds how many calls are under way; further ones wait in order of arrival.
 *
 * A 429 is the answer of its own call (the caller's backoff honours Retry-After). Only when the server refuses call
 * after call does the limiter hold back new ones until Retry-After has passed: one refused object never slows the rest.
 */
export class Limiter {
  readonly #maxInFlight: number;
  readonly #clock: Clock;
  readonly #waiting = new Set<() => void>();
  #inFlight = 0;
  #refusals = 0;
  #pausedUntil = 0;
  #resumeScheduled = false;

  constructor({ maxInFlight, clock = systemClock }: LimiterOptions) {
    this.#maxInFlight = maxInFlight;
    this.#clock = clock;
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  get waiting(): number {
    return this.#waiting.size;
  }

  /** Runs `task` when its turn comes. Rejects with the signal's reason, task not begun, when that fires first. */
  async run<T>(task: () => Promise<T>, signal: AbortSignal): Promise<T> {
    await this.#turn(signal);
    try {
      const result = await task();
      this.#refusals = 0;
      return result;
    } catch (error) {
      this.#learn(error);
      throw error;
    } finally {
      this.#inFlight -= 1;
      this.#next();
    }
  }

  #turn(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason);
      const begin = () => {
        signal.removeEventListener('abort', giveUp);
        this.#inFlight += 1;
        resolve();
      };
      const giveUp = () => {
        this.#waiting.delete(begin);
        reject(signal.reason);
      };
      signal.addEventListener('abort', giveUp, { once: true });
      this.#waiting.add(begin);
      this.#next();
    });
  }

  #next(): void {
    const pause = this.#pausedUntil - this.#clock.now();
    if (pause > 0) {
      this.#resumeAfter(pause);
      return;
    }
    for (const begin of this.#waiting) {
      if (this.#inFlight >= this.#maxInFlight) return;
      this.#waiting.delete(begin);
      begin();
    }
  }

  #resumeAfter(ms: number): void {
    if (this.#resumeScheduled || this.#waiting.size === 0) return;
    this.#resumeScheduled = true;
    this.#clock.after(ms, () => {
      this.#resumeScheduled = false;
      this.#next();
    });
  }

  #learn(error: unknown): void {
    if (!isKubeError(error, 'too_many_requests')) return;
    this.#refusals += 1;
    if (this.#refusals < REFUSALS_IN_A_ROW) return;
    const pause = Math.min(error.retryAfterMs ?? 1000, MAX_PAUSE_MS);
    this.#pausedUntil = Math.max(this.#pausedUntil, this.#clock.now() + pause);
  }
}
