import { type Clock, systemClock } from './clock.ts';
import { isKubeError } from './errors.ts';
import { presentGroup } from './on-behalf.ts';

/** So many refusals in a row, with no success between, mean that the server is overloaded, not that one object is. */
const REFUSALS_IN_A_ROW = 3;
const MAX_PAUSE_MS = 30_000;

export interface LimiterOptions {
  maxInFlight: number;
  /** Of one group; default: as many. The fewer, the sooner is answered what another group asks meanwhile. */
  maxOfGroup?: number;
  clock?: Clock;
  /** Of a call that begins to wait now; default: on whose behalf it is made. */
  groupOf?: () => string;
}

/**
 * Bounds how many calls are under way, of all and of each group. Of further ones the groups (tenants) take turns, and
 * within a group they wait in order of arrival: a thousand calls of one delay another one's by a turn, not by all of them.
 *
 * A 429 is the answer of its own call (the caller's backoff honours Retry-After). Only when the server refuses call
 * after call does the limiter hold back new ones until Retry-After has passed: one refused object never slows the rest.
 */
export class Limiter {
  readonly #maxInFlight: number;
  readonly #maxOfGroup: number;
  readonly #clock: Clock;
  readonly #groupOf: () => string;
  /** By group, in the order of their turns; none is empty. */
  readonly #waiting = new Map<string, Set<() => void>>();
  #inFlight = 0;
  /** Of them, by group; none is 0. */
  readonly #byGroup = new Map<string, number>();
  #refusals = 0;
  #pausedUntil = 0;
  #resumeScheduled = false;

  constructor({
    maxInFlight,
    maxOfGroup = maxInFlight,
    clock = systemClock,
    groupOf = presentGroup,
  }: LimiterOptions) {
    this.#maxInFlight = maxInFlight;
    this.#maxOfGroup = maxOfGroup;
    this.#clock = clock;
    this.#groupOf = groupOf;
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  get waiting(): number {
    let sum = 0;
    for (const calls of this.#waiting.values()) sum += calls.size;
    return sum;
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
      this.#count(group, -1);
      this.#next();
    }
  }

  #count(group: string, change: 1 | -1): void {
    this.#inFlight += change;
    const left = (this.#byGroup.get(group) ?? 0) + change;
    if (left === 0) this.#byGroup.delete(group);
    else this.#byGroup.set(group, left);
  }

  #turn(group: string, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason);
      const begin = () => {
        signal.removeEventListener('abort', giveUp);
        this.#count(group, 1);
        resolve();
      };
      const giveUp = () => {
        const calls = this.#waiting.get(group);
        calls?.delete(begin);
        if (calls?.size === 0) this.#waiting.delete(group);
        reject(signal.reason);
      };
      signal.addEventListener('abort', giveUp, { once: true });
      const calls = this.#waiting.get(group);
      if (calls === undefined) this.#waiting.set(group, new Set([begin]));
      else calls.add(begin);
      this.#next();
    });
  }

  #next(): void {
    const pause = this.#pausedUntil - this.#clock.now();
    if (pause > 0) {
      this.#resumeAfter(pause);
      return;
    }
    while (this.#inFlight < this.#maxInFlight) {
      const begin = this.#take();
      if (begin === undefined) return;
      begin();
    }
  }

  /** Of the group whose turn it is, which goes to the end of the line, if it has more. */
  #take(): (() => void) | undefined {
    for (const [group, calls] of this.#waiting) {
      if ((this.#byGroup.get(group) ?? 0) >= this.#maxOfGroup) continue;
      this.#waiting.delete(group);
      for (const begin of calls) {
        calls.delete(begin);
        if (calls.size > 0) this.#waiting.set(group, calls);
        return begin;
      }
    }
    return undefined;
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
