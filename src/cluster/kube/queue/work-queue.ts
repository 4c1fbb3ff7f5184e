import { type BackoffOptions, fullJitter } from '../../../domain/core/backoff.ts';
import { type Clock, systemClock } from '../client/clock.ts';
import { ReadyKeys } from './ready-keys.ts';

export interface WorkQueueOptions {
  /** Turns are taken round-robin between groups (tenants); default: all keys are one group. */
  groupOf?: (key: string) => string;
  /** Keys of one group that workers have at once, so that a worker is free for another one's; default: any number. */
  maxOfGroup?: number;
  /** None is handed out before `release`; default: no. */
  held?: boolean;
  /** Default 500 ms, cap 60 s. */
  backoff?: BackoffOptions;
  clock?: Clock;
  random?: () => number;
}

export interface AddOptions {
  /** Before those of its group that are not: somebody waits for it. Default: no. */
  ahead?: boolean;
}

const BACKOFF: BackoffOptions = { baseMs: 500, capMs: 60_000 };

/**
 * Keyed, deduplicating queue of work (the idea of client-go's workqueue).
 *
 * - A key is with one worker at a time; added meanwhile, it is handed out once more after `done`.
 * - Groups take turns: a tenant with a thousand keys delays another's single key by one turn. One group has not all workers,
 *   for what waits for a worker waits as long as the look that has it.
 * - Within a group, keys that were added as ahead come first, three of four.
 * - A key handed out is no longer delayed: the look that begins now decides anew when to look again.
 * - A key that the server asked to leave alone for a while stays so, whatever happens to it meanwhile.
 */
export class WorkQueue {
  readonly #groupOf: (key: string) => string;
  readonly #maxOfGroup: number;
  readonly #backoff: BackoffOptions;
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #ready = new ReadyKeys();
  /** With the group each was handed out for. */
  readonly #processing = new Map<string, string>();
  /** Of these, by group; none is 0. */
  readonly #processingOf = new Map<string, number>();
  /** Added while being processed, and whether ahead. */
  readonly #again = new Map<string, boolean>();
  readonly #delayed = new Map<string, { at: number; cancel: () => void }>();
  readonly #failures = new Map<string, number>();
  /** Until when the server asked to be left alone with a key, on the clock. */
  readonly #notBefore = new Map<string, number>();
  readonly #waiting: ((key: string | undefined) => void)[] = [];
  /** Keys that are held, whether ahead, and since when they wait, in order of arrival; undefined: none is, any more. */
  #held: Map<string, { readonly ahead: boolean; readonly at: number }> | undefined;
  #drained: PromiseWithResolvers<void> | undefined;

  constructor(options: WorkQueueOptions = {}) {
    this.#groupOf = options.groupOf ?? (() => '');
    this.#maxOfGroup = options.maxOfGroup ?? Number.POSITIVE_INFINITY;
    this.#backoff = options.backoff ?? BACKOFF;
    this.#clock = options.clock ?? systemClock;
    this.#random = options.random ?? Math.random;
    this.#held = options.held === true ? new Map() : undefined;
  }

  /**
   * Hands out what was held, in the order of its names: caches were filled in that order, and what stands side by side in
   * them is unpacked together. Groups are those of now: before all is listed it is not known whose a key is.
   */
  release(): void {
    const held = this.#held ?? new Map<string, { readonly ahead: boolean }>();
    // They are not in the order of their times then: that of the first one is kept, so that none seems to wait for less.
    const at = this.#heldSince() ?? this.#clock.now();
    this.#held = undefined;
    for (const key of [...held.keys()].sort())
      this.#ready.add(key, this.#groupOf(key), { ahead: held.get(key)?.ahead === true, at });
    this.#handOut();
  }

  add(key: string, { ahead = false }: AddOptions = {}): void {
    if (this.#drained !== undefined) return;
    this.#cancelDelay(key);
    if (this.#held !== undefined) {
      const known = this.#held.get(key);
      this.#held.set(key, { ahead: ahead || known?.ahead === true, at: known?.at ?? this.#clock.now() });
    } else if (this.#processing.has(key)) this.#again.set(key, ahead || this.#again.get(key) === true);
    else this.#makeReadyInTime(key, ahead);
  }

  /** Adds after `ms`; of several, the earliest counts. */
  addAfter(key: string, ms: number): void {
    if (ms <= 0) {
      this.add(key);
      return;
    }
    const at = this.#clock.now() + ms;
    const planned = this.#delayed.get(key);
    if (this.#drained !== undefined || this.#isReady(key) || (planned !== undefined && planned.at <= at))
      return;
    planned?.cancel();
    this.#delayed.set(key, { at, cancel: this.#clock.after(ms, () => this.add(key)) });
  }

  /**
   * Adds after a backoff that grows with each call until `forget`. Returns the delay in ms.
   * @param minDelayMs what the server asked for: not sooner, even if it is added meanwhile
   */
  addRateLimited(key: string, minDelayMs = 0): number {
    const failures = this.failures(key);
    this.#failures.set(key, failures + 1);
    if (minDelayMs > 0) this.#notBefore.set(key, this.#clock.now() + minDelayMs);
    const delay = Math.max(minDelayMs, fullJitter(failures, this.#backoff, this.#random));
    this.addAfter(key, delay);
    return delay;
  }

  /** Resets the backoff of a key. */
  forget(key: string): void {
    this.#failures.delete(key);
    this.#notBefore.delete(key);
  }

  /** Failures since the last `forget`. */
  failures(key: string): number {
    return this.#failures.get(key) ?? 0;
  }

  /** Next key, as soon as there is one; `undefined` once shut down. Each must be given back by `done`. */
  get(): Promise<string | undefined> {
    if (this.#drained !== undefined) return Promise.resolve(undefined);
    const key = this.#take();
    if (key !== undefined) return Promise.resolve(key);
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  done(key: string): void {
    const group = this.#processing.get(key);
    if (group !== undefined) this.#count(group, -1);
    this.#processing.delete(key);
    const ahead = this.#again.get(key);
    this.#again.delete(key);
    if (ahead !== undefined) this.add(key, { ahead });
    this.#handOut();
    if (this.#processing.size === 0) this.#drained?.resolve();
  }

  /**
   * Hands out nothing more, drops what waits (it can be derived again); resolves when every key handed out is done.
   */
  shutdown(): Promise<void> {
    if (this.#drained !== undefined) return this.#drained.promise;
    this.#drained = Promise.withResolvers();
    for (const { cancel } of this.#delayed.values()) cancel();
    this.#delayed.clear();
    this.#ready.clear();
    this.#held = undefined;
    for (const resolve of this.#waiting.splice(0)) resolve(undefined);
    if (this.#processing.size === 0) this.#drained.resolve();
    return this.#drained.promise;
  }

  /** Whose turn a key takes. */
  groupOf(key: string): string {
    return this.#groupOf(key);
  }

  /** Keys ready and waiting for a worker. */
  get depth(): number {
    return this.#ready.size + (this.#held?.size ?? 0);
  }

  get processing(): number {
    return this.#processing.size;
  }

  /** Keys whose time has not come. */
  get delayed(): number {
    return this.#delayed.size;
  }

  /** Keys whose last look failed. */
  get failing(): number {
    return this.#failures.size;
  }

  /** Age in ms of the longest waiting ready key; 0 when none waits. */
  get oldestAgeMs(): number {
    const now = this.#clock.now();
    return now - (this.#ready.oldest() ?? this.#heldSince() ?? now);
  }

  /** Of the first one that is held. */
  #heldSince(): number | undefined {
    return this.#held?.values().next().value?.at;
  }

  #isReady(key: string): boolean {
    return this.#again.has(key) || this.#ready.has(key) || this.#held?.has(key) === true;
  }

  #makeReadyInTime(key: string, ahead: boolean): void {
    const at = this.#clock.now();
    const waitMs = (this.#notBefore.get(key) ?? 0) - at;
    if (waitMs > 0) {
      this.addAfter(key, waitMs);
      return;
    }
    this.#notBefore.delete(key);
    this.#ready.add(key, this.#groupOf(key), { ahead, at });
    this.#handOut();
  }

  /** To workers that wait. */
  #handOut(): void {
    while (this.#waiting.length > 0) {
      const key = this.#take();
      if (key === undefined) return;
      this.#waiting.shift()?.(key);
    }
  }

  #take(): string | undefined {
    const next = this.#ready.take((group) => (this.#processingOf.get(group) ?? 0) < this.#maxOfGroup);
    if (next === undefined) return undefined;
    const { key, group } = next;
    this.#cancelDelay(key);
    this.#processing.set(key, group);
    this.#count(group, 1);
    return key;
  }

  #count(group: string, change: 1 | -1): void {
    const left = (this.#processingOf.get(group) ?? 0) + change;
    if (left === 0) this.#processingOf.delete(group);
    else this.#processingOf.set(group, left);
  }

  #cancelDelay(key: string): void {
    this.#delayed.get(key)?.cancel();
    this.#delayed.delete(key);
  }
}
