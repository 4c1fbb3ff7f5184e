import { type BackoffOptions, fullJitter } from '../../../domain/core/backoff.ts';
import type { WatchEvent } from '../client/client-types.ts';
import { type Clock, sleep, systemClock } from '../client/clock.ts';
import { KubeError, toKubeError } from '../client/errors.ts';
import { matchesLabelSelector } from '../client/label-selector.ts';
import { type KubeObject, keyOf, type ObjectName } from '../client/object.ts';
import type { Resource } from '../client/resources.ts';
import { ObjectCache, type ReflectorHandlers } from './cache.ts';
import { cacheTransform } from './cache-transform.ts';
import { FirstSync } from './first-sync.ts';
import { ReflectorHealth } from './reflector-health.ts';
import type { ReflectorOptions, ReflectorStats } from './reflector-options.ts';
import { StaleLists } from './stale-lists.ts';
import type { Store } from './store.ts';

export type { ReflectorHandlers } from './cache.ts';
export type { ReflectorOptions, ReflectorStats } from './reflector-options.ts';

const WATCH_SECONDS = { min: 300, max: 600 };
// guard: silent-watch-ends
const IDLE_TIMEOUT_MS = 90_000;
const LIST_TIMEOUT_MS = 60_000;
/**
 * Maximum age of the last list, in milliseconds. A lost event is corrected within this time plus the duration of one
 * watch.
 */
const RELIST_EVERY_MS = 1_800_000;
const BACKOFF: BackoffOptions = { baseMs: 500, capMs: 5_000 };
/**
 * A watch that ends sooner than this without any data counts as a failure. Otherwise short watches would follow each
 * other in a tight loop.
 */
const SHORT_WATCH_MS = 1_000;
/**
 * Number of consecutive rejections of the watch after which it lists again, because the resource version may be the
 * cause.
 */
const REFUSALS_BEFORE_RELIST = 3;
/**
 * Caches all objects of one kind (in one namespace or all) by list and watch, and calls handlers with the changes.
 * Every failure or silence of list or watch leads to another attempt after a jittered backoff, so the cache never
 * becomes stale without notice. A watch continues from the last resource version. When the server no longer has that
 * version (410), and every half hour, everything is listed again, and objects that have disappeared are reported as
 * deleted. Lists are streamed if the server supports it. A list requests the most recent state (no resourceVersion),
 * never "any" version, so that a restarted process does not see an older state than before.
 */
export class Reflector<T extends KubeObject> {
  readonly resource: Resource;
  readonly store: Store<T>;
  readonly #options: ReflectorOptions<T>;
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #cache: ObjectCache<T>;
  readonly #health: ReflectorHealth;
  readonly #transform: (object: T) => T;
  readonly #stopping = new AbortController();
  readonly #sync = new FirstSync();
  readonly #staleLists: StaleLists;
  #running: Promise<void> | undefined;
  #needsList = true;
  /** Whether a list has been requested. */
  #hasBegun = false;
  #listedAt = 0;
  #refusals = 0;

  constructor(options: ReflectorOptions<T>) {
    this.resource = options.resource;
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#random = options.random ?? Math.random;
    this.#cache = new ObjectCache({
      kind: options.resource.kind,
      indexes: options.indexes,
      maxUncompressed: options.maxUncompressed,
      isInView: (object) => this.#isInView(object),
      clock: this.#clock,
      logger: options.logger,
    });
    this.store = this.#cache.store;
    this.#transform = cacheTransform(options);
    this.#health = new ReflectorHealth({
      kind: options.resource.kind,
      logger: options.logger,
      clock: this.#clock,
    });
    this.#staleLists = new StaleLists(options.resource.plural);
  }

  /**
   * Adds handlers. New handlers receive every known object as `added`.
   * @returns a function that removes the handlers
   */
  addHandlers(handlers: ReflectorHandlers<T>): () => void {
    return this.#cache.addHandlers(handlers);
  }

  start(): void {
    this.#running ??= this.#run(this.#stopping.signal);
  }

  /** Ends list and watch, and resolves when no call is active. The cache stays readable. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#sync.stop(
      new KubeError({ kind: 'aborted', message: `the reflector of ${this.resource.kind} was stopped` }),
    );
    await this.#running;
  }

  hasSynced(): boolean {
    return this.#sync.done;
  }

  /** Resolves once the first list is cached. Rejects when the signal fires or the reflector stops. */
  waitForSync(signal?: AbortSignal): Promise<void> {
    return this.#sync.wait(signal);
  }

  /** Like `waitForSync`, but also resolves once the first attempt has failed. The reflector keeps trying. */
  waitForAttempt(signal?: AbortSignal): Promise<void> {
    return this.#sync.waitForAttempt(signal);
  }

  /** Records the response to an own write: adds it to the cache if newer, and `isCurrent` waits for it. */
  noteWrite(written: T): void {
    // A shallow copy, because the transform removes fields, and the caller needs the full response.
    this.#cache.noteWrite(this.#transform({ ...written, metadata: { ...written.metadata } }));
  }

  /** Records an own delete: `isCurrent` is false until the object with this uid is gone or marked as being deleted. */
  noteDelete(key: string, uid: string): void {
    this.#cache.noteDelete(key, uid);
  }

  /** Whether the cache is at least as new as the last own write of this key. */
  isCurrent(key: string): boolean {
    return this.#cache.isCurrent(key);
  }

  /** Reads one object live into the cache, in case an event was lost. A missing object is removed from the cache. */
  async refresh(at: ObjectName, options: { signal?: AbortSignal } = {}): Promise<T | undefined> {
    const key = keyOf(at);
    const before = this.store.get(key);
    const found = await this.#options.client.find<T>(this.resource, at, options);
    this.#cache.noteRead(key, before, found === undefined ? undefined : this.#transform(found));
    return this.store.get(key);
  }

  stats(): ReflectorStats {
    return {
      ...this.#health.stats(),
      objects: this.store.size,
      handlerErrors: this.#cache.handlerErrors,
    };
  }

  async #run(signal: AbortSignal): Promise<void> {
    let failures = 0;
    while (!signal.aborted) {
      const before = this.#health.signsOfLife;
      try {
        if (this.#needsList) await this.#list(signal);
        await this.#watch(signal);
        failures = 0;
      } catch (error) {
        if (signal.aborted) return;
        if (this.#health.signsOfLife !== before) failures = 0;
        await this.#recover(toKubeError(error), failures, signal);
        failures += 1;
      }
    }
  }

  async #list(signal: AbortSignal): Promise<void> {
    const { client, namespace, labelSelector, fieldSelector, pageSize, listTimeoutMs } = this.#options;
    const held = new WeakSet<T>();
    const isFirst = this.#cache.streamVersion === undefined;
    // Pages of an interrupted first list are in the cache. The server may have been restored after the interruption, so
    // this list replaces these pages.
    const isRestarted = isFirst && this.#hasBegun;
    this.#hasBegun = true;
    const list = await client.listAll<T>(this.resource, {
      namespace,
      labelSelector,
      fieldSelector,
      streamed: true,
      limit: pageSize,
      timeoutMs: listTimeoutMs ?? LIST_TIMEOUT_MS,
      signal,
      transform: (object) => this.#fromList(object, held),
    });
    signal.throwIfAborted();
    const rewritten = this.#staleLists.isRewritten(list.resourceVersion, this.#cache.streamVersion);
    const items = new Map(list.items.map((item) => [keyOf(item), held.has(item) ? null : item]));
    this.#cache.replace(items, list.resourceVersion, rewritten || isRestarted);
    this.#health.listed();
    this.#needsList = false;
    this.#refusals = 0;
    this.#listedAt = this.#clock.now();
    this.#sync.listed();
  }

  /**
   * An object of a list. If the cache has this version already, only its key is kept until the list is complete.
   * Otherwise a list of unchanged objects would dominate memory use.
   */
  #fromList(object: T, held: WeakSet<T>): T {
    const trimmed = this.#transform(object);
    if (this.#cache.streamVersion === undefined) this.#cache.listed(trimmed);
    if (!this.#cache.holds(trimmed)) return trimmed;
    const { namespace, name } = trimmed.metadata;
    const named = { apiVersion: trimmed.apiVersion, kind: trimmed.kind, metadata: { namespace, name } } as T;
    held.add(named);
    return named;
  }

  async #watch(signal: AbortSignal): Promise<void> {
    const { client, namespace, labelSelector, fieldSelector, idleTimeoutMs } = this.#options;
    const { min, max } = this.#options.watchSeconds ?? WATCH_SECONDS;
    const beganAt = this.#clock.now();
    const before = this.#health.signsOfLife;
    let cancelCheck = () => {};
    this.#health.opensWatch();
    try {
      await client.watch<T>(
        this.resource,
        {
          namespace,
          labelSelector,
          fieldSelector,
          resourceVersion: this.#cache.streamVersion ?? '0',
          timeoutSeconds: Math.round(min + this.#random() * (max - min)),
          idleTimeoutMs: idleTimeoutMs ?? IDLE_TIMEOUT_MS,
          signal,
          onOpen: () => {
            cancelCheck = this.#clock.after(SHORT_WATCH_MS, () => this.#health.works());
          },
        },
        (event) => this.#onEvent(event),
      );
    } finally {
      cancelCheck();
    }
    if (this.#health.signsOfLife === before && this.#clock.now() - beganAt < SHORT_WATCH_MS) {
      const message = `failed to watch ${this.resource.plural}: the watch ended at once`;
      throw new KubeError({ kind: 'network', message });
    }
    this.#refusals = 0;
    this.#health.ended();
    this.#health.works();
    const age = this.#clock.now() - this.#listedAt;
    this.#needsList = age >= (this.#options.relistEveryMs ?? RELIST_EVERY_MS);
  }

  #onEvent(event: WatchEvent<T>): void {
    this.#health.received(event.type);
    this.#refusals = 0;
    if (event.type === 'BOOKMARK') {
      this.#cache.bookmark(event.object.metadata.resourceVersion);
      return;
    }
    const object = this.#transform(event.object);
    if (event.type === 'DELETED') this.#cache.observedDelete(object);
    else this.#cache.observed(object);
  }

  async #recover(error: KubeError, failures: number, signal: AbortSignal): Promise<void> {
    // guard: list-again-after-410
    this.#noteRejection(error);
    const delay = Math.max(
      error.retryAfterMs ?? 0,
      fullJitter(failures, this.#options.backoff ?? BACKOFF, this.#random),
    );
    this.#health.failed(error, delay);
    this.#sync.failed();
    await sleep(this.#clock, delay, signal);
  }

  #noteRejection({ kind, status }: KubeError): void {
    if (kind === 'gone') this.#needsList = true;
    if (status === undefined || kind === 'too_many_requests') return;
    this.#refusals += 1;
    if (this.#refusals >= REFUSALS_BEFORE_RELIST) this.#needsList = true;
  }

  /** Whether list and watch would return this object; false in case of doubt. */
  #isInView({ metadata }: T): boolean {
    const { namespace, labelSelector = '', fieldSelector } = this.#options;
    const elsewhere = namespace !== undefined && namespace !== metadata.namespace;
    if (elsewhere || fieldSelector !== undefined) return false;
    return matchesLabelSelector(labelSelector, metadata.labels) === true;
  }
}
