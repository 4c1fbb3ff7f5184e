import { type BackoffOptions, fullJitter } from '../../../domain/core/backoff.ts';
import { type Clock, systemClock } from '../client/clock.ts';
import { ReadyKeys } from './ready-keys.ts';

export interface WorkQueueOptions {
  /** Turns go round-robin between groups (tenants); default: all keys are one group. */
  groupOf?: (key: string) => string;
  /** Maximum number of concurrent keys of one group, so that a worker is free for another group; default: unlimited. */
  maxOfGroup?: number;
  /** No key is handed out before `release`; default: false. */
  held?: boolean;
  /** Default 500 ms, cap 60 s. */
  backoff?: BackoffOptions;
  clock?: Clock;
  random?: () => number;
}

export interface AddOptions {
  /** Served before other keys of its group, because a user waits for it. Default: false. */
  ahead?: boolean;
}

const BACKOFF: BackoffOptions = { baseMs: 500, capMs: 60_000 };

/**
 * Keyed, deduplicating work queue (the idea of client-go's workqueue).
 * - A key is with one worker at a time. If it is added meanwhile, it is handed out once more after `done`.
 * - Groups take turns: a tenant with a thousand keys delays another tenant's single key by one turn. `maxOfGroup`
 *   keeps a worker free for other groups, whose keys would otherwise wait for a reconcile to end.
 * - Within a group, keys that were added as ahead come first, three out of four times.
 * - Handing a key out cancels its delay: the reconcile decides when to run again.
 * - If the server asked to leave a key alone for some time, the key is delayed at least that long.
 */
export class WorkQueue {
  readonly #groupOf: (key: string) => string;
  readonly #maxOfGroup: number;
  readonly #backoff: BackoffOptions;
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #ready = new ReadyKeys();
  /** Keys with a worker, and the group that each was handed out for. */
  readonly #processing = new Map<string, string>();
  /** Their number by group; 0 is not stored. */
  readonly #processingOf = new Map<string, number>();
  /** Added while being processed, and whether ahead. */
  readonly #again = new Map<string, boolean>();
  readonly #delayed = new Map<string, { at: number; cancel: () => void }>();
  readonly #failures = new Map<string, number>();
  /** The end of the delay that the server asked for, by key, on the clock. */
  readonly #notBefore = new Map<string, number>();
  readonly #waiting: ((key: string | undefined) => void)[] = [];
  /** Held keys in order of arrival: whether ahead, and since when they wait; undefined once released. */
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
   * Hands out the held keys in the order of their names. The caches were filled in that order, and neighbours in it
   * are decompressed together. Groups are determined now: before all lists are complete, the group of a key is
   * unknown.
   */
  release(): void {
    const held = this.#held ?? new Map<string, { readonly ahead: boolean }>();
    // They are not sorted by time then. All get the earliest time, so that no wait is reported too short.
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

  /** Adds after `ms`. Of several calls, the earliest counts. */
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
   * @param minDelayMs delay that the server asked for: not sooner, even if the key is added meanwhile
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

  /** The next key, as soon as there is one; `undefined` after shutdown. Each key must be returned with `done`. */
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
   * Hands out nothing more and drops waiting keys (they can be derived again). Resolves when every key handed out is
   * done.
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

  /** The group of a key. */
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

  /** Keys that are delayed. */
  get delayed(): number {
    return this.#delayed.size;
  }

  /** Keys whose last reconcile failed. */
  get failing(): number {
    return this.#failures.size;
  }

  /** Age in ms of the longest waiting ready key; 0 when none waits. */
  get oldestAgeMs(): number {
    const now = this.#clock.now();
    return now - (this.#ready.oldest() ?? this.#heldSince() ?? now);
  }

  /** Time of the first held key. */
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

  /** Hands keys to waiting workers. */
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
