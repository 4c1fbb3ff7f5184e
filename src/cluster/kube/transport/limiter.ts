import { Turns, type TurnsOptions } from '../../../domain/scheduling/turns.ts';
import { type Clock, systemClock } from '../client/clock.ts';
import { isKubeError } from '../client/errors.ts';
import { presentGroup } from './flow-context.ts';

/** So many refusals in a row, with no success between, mean that the server is overloaded, not that one object is. */
const REFUSALS_IN_A_ROW = 3;
const MAX_PAUSE_MS = 30_000;

export interface LimiterOptions {
  maxInFlight: number;
  /** How many of them one group may have; default: any number. */
  ofGroup?: Pick<TurnsOptions, 'maxOfGroup' | 'share' | 'shareBeside' | 'yieldMs'>;
  clock?: Clock;
  /** Of a call that begins to wait now; default: on whose behalf it is made. */
  groupOf?: () => string;
}

/**
 * Bounds how many calls are under way, of all and of each group; of further ones the groups (tenants) take turns.
 *
 * A 429 is the answer of its own call (the caller's backoff honours Retry-After). Only when the server refuses call
 * after call does the limiter hold back new ones until Retry-After has passed: one refused object never slows the rest.
 */
export class Limiter {
  readonly #turns: Turns;
  readonly #clock: Clock;
  readonly #groupOf: () => string;
  #refusals = 0;
  #pausedUntil = 0;
  #resumeScheduled = false;

  constructor({ maxInFlight, ofGroup = {}, clock = systemClock, groupOf = presentGroup }: LimiterOptions) {
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

  /** Runs `task` when its turn comes. Rejects with the signal's reason, task not begun, when that fires first. */
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
