import { type BackoffOptions, fullJitter } from '../../../domain/core/backoff.ts';
import { FairLimiter, NO_TENANT } from '../../../domain/scheduling/fair-limiter.ts';
import { type Clock, systemClock } from '../client/clock.ts';
import type { QueueObserver } from './queue-observer.ts';

export interface WorkQueueOptions {
  /** The tenant of a key. Tenants take turns, round robin. Default: all keys belong to no tenant. */
  tenantOf?: (key: string) => string;
  /** Maximum number of concurrent keys of one tenant, so that a worker is free for another; default: unlimited. */
  perTenant?: number;
  /** No key is handed out before `release`; default: false. */
  held?: boolean;
  /** Default 500 ms, cap 60 s. */
  backoff?: BackoffOptions;
  clock?: Clock;
  random?: () => number;
}

const BACKOFF: BackoffOptions = { baseMs: 500, capMs: 60_000 };

/**
 * Keyed, deduplicating work queue (the idea of client-go's workqueue).
 * - Only one worker at a time has a key. If the key is added during this time, it is handed out once more after `done`.
 * - Tenants take turns: a tenant with a thousand keys delays another tenant's single key by one turn. `perTenant` keeps
 *   a worker free for other tenants. Without a free worker, keys of other tenants would wait for a reconcile to end.
 * - Handing a key out cancels its delay: the reconcile decides when to run again.
 * - If the server asked for a delay of a key, the key is delayed at least that long.
 */
export class WorkQueue {
  readonly #tenantOf: (key: string) => string;
  /** A key that a worker has is a running task, and a ready key is a waiting task. */
  readonly #turns: FairLimiter;
  readonly #backoff: BackoffOptions;
  readonly #clock: Clock;
  readonly #random: () => number;
  /** Keys that are ready for a worker, and when each became ready: the oldest first. */
  readonly #ready = new Map<string, number>();
  /** Keys with a worker, the tenant that each was handed out for, and when. */
  readonly #processing = new Map<string, { readonly tenant: string; readonly at: number }>();
  /** Keys that were added while a worker had them. */
  readonly #again = new Set<string>();
  readonly #delayed = new Map<string, { at: number; cancel: () => void }>();
  readonly #failures = new Map<string, number>();
  /** The end of the delay that the server asked for, by key, on the clock. */
  readonly #notBefore = new Map<string, number>();
  /** Workers that wait for a key. */
  readonly #waiting: ((key: string | undefined) => void)[] = [];
  /** Held keys and the time of arrival of each, in order of arrival; undefined after the release. */
  #held: Map<string, number> | undefined;
  #drained: PromiseWithResolvers<void> | undefined;
  #observer: QueueObserver | undefined;

  constructor(options: WorkQueueOptions = {}) {
    this.#tenantOf = options.tenantOf ?? (() => NO_TENANT);
    this.#turns = new FairLimiter({
      total: Number.POSITIVE_INFINITY,
      perTenant: options.perTenant,
      isOpen: () => this.#waiting.length > 0 && this.#held === undefined,
    });
    this.#backoff = options.backoff ?? BACKOFF;
    this.#clock = options.clock ?? systemClock;
    this.#random = options.random ?? Math.random;
    this.#held = options.held === true ? new Map() : undefined;
  }

  /** Sets the observer, which replaces the previous one. */
  observe(observer: QueueObserver): void {
    this.#observer = observer;
  }

  /**
   * Hands out the held keys in the order of their names. The caches were filled in this order, so objects with
   * neighbouring names are decompressed together. The tenant of each key is determined now, because it is unknown before
   * all lists are complete.
   */
  release(): void {
    const held = this.#held ?? new Map<string, number>();
    // The keys are no longer sorted by time. All get the earliest time, so that no wait is reported too short.
    const at = firstOf(held) ?? this.#clock.now();
    for (const key of [...held.keys()].sort()) this.#makeReady(key, at);
    this.#held = undefined;
    this.#turns.startWaiting();
  }

  add(key: string): void {
    if (this.#drained !== undefined) return;
    this.#cancelDelay(key);
    if (this.#held !== undefined) this.#hold(this.#held, key);
    else if (this.#processing.has(key)) this.#again.add(key);
    else this.#makeReadyInTime(key);
  }

  /** Adds the key after `ms`. Of several calls, the earliest time counts. */
  addAfter(key: string, ms: number): void {
    if (ms <= 0) {
      this.add(key);
      return;
    }
    if (this.#drained === undefined) this.#observer?.retried();
    this.#delay(key, ms);
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
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      this.#turns.startWaiting();
    });
  }

  done(key: string): void {
    const work = this.#processing.get(key);
    this.#processing.delete(key);
    if (work !== undefined) this.#observer?.done(this.#clock.now() - work.at);
    if (this.#again.delete(key)) this.add(key);
    if (work !== undefined) this.#turns.release(work.tenant);
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

  tenantOf(key: string): string {
    return this.#tenantOf(key);
  }

  /** Number of keys that are ready and wait for a worker. */
  get depth(): number {
    return this.#ready.size + (this.#held?.size ?? 0);
  }

  get processing(): number {
    return this.#processing.size;
  }

  /** For how long each worker that has a key has had it, in ms. */
  get runningMs(): number[] {
    const now = this.#clock.now();
    return [...this.#processing.values()].map(({ at }) => now - at);
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
    return now - (firstOf(this.#ready) ?? firstOf(this.#held ?? new Map()) ?? now);
  }

  #delay(key: string, ms: number): void {
    const at = this.#clock.now() + ms;
    const planned = this.#delayed.get(key);
    if (this.#drained !== undefined || this.#isReady(key) || (planned !== undefined && planned.at <= at))
      return;
    planned?.cancel();
    this.#delayed.set(key, { at, cancel: this.#clock.after(ms, () => this.add(key)) });
  }

  #hold(held: Map<string, number>, key: string): void {
    if (held.has(key)) return;
    held.set(key, this.#clock.now());
    this.#observer?.added();
  }

  #isReady(key: string): boolean {
    return this.#again.has(key) || this.#ready.has(key) || this.#held?.has(key) === true;
  }

  #makeReadyInTime(key: string): void {
    const now = this.#clock.now();
    const waitMs = (this.#notBefore.get(key) ?? 0) - now;
    if (waitMs > 0) {
      this.#delay(key, waitMs);
      return;
    }
    this.#notBefore.delete(key);
    if (this.#ready.has(key)) return;
    this.#observer?.added();
    this.#makeReady(key, now);
  }

  #makeReady(key: string, at: number): void {
    const tenant = this.#tenantOf(key);
    this.#ready.set(key, at);
    this.#turns.acquire(tenant, () => this.#handOut(key, tenant));
  }

  /** Hands the key to a waiting worker. */
  #handOut(key: string, tenant: string): void {
    const now = this.#clock.now();
    this.#observer?.handedOut(now - (this.#ready.get(key) ?? now));
    this.#ready.delete(key);
    this.#cancelDelay(key);
    this.#processing.set(key, { tenant, at: now });
    this.#waiting.shift()?.(key);
  }

  #cancelDelay(key: string): void {
    this.#delayed.get(key)?.cancel();
    this.#delayed.delete(key);
  }
}

/** The time of the first entry. */
function firstOf(times: ReadonlyMap<string, number>): number | undefined {
  return times.values().next().value;
}
