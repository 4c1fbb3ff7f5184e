import { type BackoffOptions, fullJitter } from '../../../domain/core/backoff.ts';
import { type Clock, systemClock } from '../client/clock.ts';
import { ReadyKeys } from './ready-keys.ts';

export interface WorkQueueOptions {
  /** The group (tenant) of a key. Groups take turns, round-robin. Default: all keys are one group. */
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
  /** The key is served before other keys of its group, because a user waits for it. Default: false. */
  ahead?: boolean;
}

const BACKOFF: BackoffOptions = { baseMs: 500, capMs: 60_000 };

/**
 * Keyed, deduplicating work queue (the idea of client-go's workqueue).
 * - Only one worker at a time has a key. If the key is added during this time, it is handed out once more after `done`.
 * - Groups take turns: a tenant with a thousand keys delays another tenant's single key by one turn. `maxOfGroup` keeps
 *   a worker free for other groups. Without a free worker, keys of other groups would wait for a reconcile to end.
 * - Within a group, keys that were added with `ahead` come first, three out of four times.
 * - Handing a key out cancels its delay: the reconcile decides when to run again.
 * - If the server asked for a delay of a key, the key is delayed at least that long.
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
  /** Number of keys with a worker, by group; 0 is not stored. */
  readonly #processingOf = new Map<string, number>();
  /** Keys that were added while a worker had them, and whether they were added with `ahead`. */
  readonly #again = new Map<string, boolean>();
  readonly #delayed = new Map<string, { at: number; cancel: () => void }>();
  readonly #failures = new Map<string, number>();
  /** The end of the delay that the server asked for, by key, on the clock. */
  readonly #notBefore = new Map<string, number>();
  readonly #waiting: ((key: string | undefined) => void)[] = [];
  /** Held keys in order of arrival, with `ahead` and the time of arrival; undefined after the release. */
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
   * Hands out the held keys in the order of their names. The caches were filled in this order, so objects with
   * neighbouring names are decompressed together. The group of each key is determined now, because it is unknown before
   * all lists are complete.
   */
  release(): void {
    const held = this.#held ?? new Map<string, { readonly ahead: boolean }>();
    // The keys are no longer sorted by time. All get the earliest time, so that no wait is reported too short.
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

  /** Adds the key after `ms`. Of several calls, the earliest time counts. */
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
   * Adds the key after a backoff that grows with each call until `forget`. Returns the delay in ms.
   * @param minDelayMs delay that the server asked for. The key is not handed out sooner, even if it is added again
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

  /** Number of failures of a key since the last `forget`. */
  failures(key: string): number {
    return this.#failures.get(key) ?? 0;
  }

  /**
   * Resolves with the next key as soon as one is ready, or with `undefined` after shutdown. Each key must be returned
   * with `done`.
   */
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
   * Stops the queue and drops waiting keys, which can be derived again. Resolves when every key that was handed out is
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

  /** Number of keys that are ready and wait for a worker. */
  get depth(): number {
    return this.#ready.size + (this.#held?.size ?? 0);
  }

  get processing(): number {
    return this.#processing.size;
  }

  /** Number of keys that are delayed. */
  get delayed(): number {
    return this.#delayed.size;
  }

  /** Number of keys whose last reconcile failed. */
  get failing(): number {
    return this.#failures.size;
  }

  /** Age in ms of the ready key that has waited longest; 0 when no key waits. */
  get oldestAgeMs(): number {
    const now = this.#clock.now();
    return now - (this.#ready.oldest() ?? this.#heldSince() ?? now);
  }

  /** Time of arrival of the first held key. */
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
