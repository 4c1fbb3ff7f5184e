import { Turns, type TurnsOptions } from '../../../domain/scheduling/turns.ts';
import { type Clock, systemClock } from '../client/clock.ts';
import { isKubeError } from '../client/errors.ts';
import { currentGroup } from './flow-context.ts';

/**
 * Number of consecutive rejections, without a success in between, that show an overload of the server instead of a
 * problem with one object.
 */
const REFUSALS_IN_A_ROW = 3;
const MAX_PAUSE_MS = 30_000;

export interface LimiterOptions {
  maxInFlight: number;
  /** Limits for one group; default: none. */
  ofGroup?: Pick<TurnsOptions, 'maxOfGroup' | 'share' | 'shareBeside' | 'yieldMs'>;
  clock?: Clock;
  /** The group of a call that begins to wait; default: the group on whose behalf it is made. */
  groupOf?: () => string;
}

/**
 * Limits the number of concurrent calls, in total and for each group. Groups (tenants) take turns with further calls. A
 * single 429 affects only its own call, because the caller's backoff honours Retry-After. After several consecutive
 * rejections, the limiter holds back new calls until Retry-After has passed. One rejected object therefore never slows
 * down others.
 */
export class CallLimiter {
  readonly #turns: Turns;
  readonly #clock: Clock;
  readonly #groupOf: () => string;
  #refusals = 0;
  #pausedUntil = 0;
  #resumeScheduled = false;

  constructor({ maxInFlight, ofGroup = {}, clock = systemClock, groupOf = currentGroup }: LimiterOptions) {
    this.#clock = clock;
    this.#groupOf = groupOf;
    this.#turns = new Turns({
      max: maxInFlight,
      ...ofGroup,
      clock,
      isOpen: () => this.#isOpen(),
    });
  }

  get inFlight(): number {
    return this.#turns.taken;
  }

  get waiting(): number {
    return this.#turns.waiting;
  }

  /**
   * Runs `task` when its turn comes. If the signal fires before, rejects with the signal's reason and does not start
   * the task.
   */
  async run<T>(task: () => Promise<T>, signal: AbortSignal): Promise<T> {
    const group = this.#groupOf();
    await this.#turn(group, signal);
    try {
      const result = await task();
      this.#refusals = 0;
      return result;
    } catch (error) {
      this.#learn(error);
      throw error;
    } finally {
      this.#turns.leave(group);
    }
  }

  #turn(group: string, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason);
      const giveUp = () => {
        end();
        reject(signal.reason);
      };
      signal.addEventListener('abort', giveUp, { once: true });
      const end = this.#turns.take(group, () => {
        signal.removeEventListener('abort', giveUp);
        resolve();
      });
    });
  }

  #isOpen(): boolean {
    const pause = this.#pausedUntil - this.#clock.now();
    if (pause > 0 && this.#turns.waiting > 0) this.#openAfter(pause);
    return pause <= 0;
  }

  #openAfter(ms: number): void {
    if (this.#resumeScheduled) return;
    this.#resumeScheduled = true;
    this.#clock.after(ms, () => {
      this.#resumeScheduled = false;
      this.#turns.open();
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
