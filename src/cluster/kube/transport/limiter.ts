import { FairLimiter, type FairLimits } from '../../../domain/scheduling/fair-limiter.ts';
import { type Clock, systemClock } from '../client/clock.ts';
import { isKubeError } from '../client/errors.ts';
import { currentTenant } from './flow-context.ts';

/**
 * Number of consecutive rejections, without a success in between, that show an overload of the server instead of a
 * problem with one object.
 */
const REFUSALS_IN_A_ROW = 3;
const MAX_PAUSE_MS = 30_000;

export interface CallLimits extends Omit<FairLimits, 'isOpen'> {
  readonly clock?: Clock;
}

/**
 * Limits the number of concurrent calls, in total and for each tenant. A single 429 affects only its own call, because
 * the caller's backoff honours Retry-After. After several consecutive rejections, the limiter holds back new calls until
 * Retry-After has passed. One rejected object therefore never slows down others.
 */
export class CallLimiter {
  readonly #calls: FairLimiter;
  readonly #clock: Clock;
  #refusals = 0;
  #pausedUntil = 0;
  #resumeScheduled = false;

  constructor({ clock = systemClock, ...limits }: CallLimits) {
    this.#clock = clock;
    this.#calls = new FairLimiter({ ...limits, isOpen: () => this.#isOpen() });
  }

  get inFlight(): number {
    return this.#calls.running;
  }

  get waiting(): number {
    return this.#calls.waiting;
  }

  /**
   * Runs `task` when its turn comes, for the current tenant. If the signal fires before, rejects with the signal's
   * reason and does not start the task.
   */
  run<T>(task: () => Promise<T>, signal: AbortSignal): Promise<T> {
    return this.#calls.run(currentTenant(), () => this.#observed(task), signal);
  }

  async #observed<T>(task: () => Promise<T>): Promise<T> {
    try {
      const result = await task();
      this.#refusals = 0;
      return result;
    } catch (error) {
      this.#learn(error);
      throw error;
    }
  }

  /** While calls are held back, schedules the end of the pause. */
  #isOpen(): boolean {
    const pauseMs = this.#pausedUntil - this.#clock.now();
    if (pauseMs <= 0) return true;
    if (!this.#resumeScheduled) {
      this.#resumeScheduled = true;
      this.#clock.after(pauseMs, () => {
        this.#resumeScheduled = false;
        this.#calls.startWaiting();
      });
    }
    return false;
  }

  #learn(error: unknown): void {
    if (!isKubeError(error, 'too_many_requests')) return;
    this.#refusals += 1;
    if (this.#refusals < REFUSALS_IN_A_ROW) return;
    const pause = Math.min(error.retryAfterMs ?? 1000, MAX_PAUSE_MS);
    this.#pausedUntil = Math.max(this.#pausedUntil, this.#clock.now() + pause);
  }
}
