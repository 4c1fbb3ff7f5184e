import type { Logger } from '../../../domain/core/logger.ts';
import type { Clock } from '../client/clock.ts';
import { compareResourceVersions, type KubeObject, keyOf } from '../client/object.ts';
import { isSameVersion } from './compressed-store.ts';
import { PendingWrites } from './pending-writes.ts';
import { IndexedStore, type IndexFunction, type Store } from './store.ts';

/** Called synchronously, in order. Exceptions of handlers are logged and do not stop the stream. */
export interface ReflectorHandlers<T> {
  added?(object: T): void;
  /**
   * If `old` and `object` have the same resourceVersion, this is the event of a write that `noteWrite` has already
   * added.
   */
  updated?(object: T, old: T): void;
  deleted?(object: T): void;
}

export interface CacheOptions<T extends KubeObject> {
  kind: string;
  /** Number of objects that are kept uncompressed. Default: all. */
  maxUncompressed?: number | undefined;
  indexes?: Readonly<Record<string, IndexFunction<T>>>;
  /** Whether list and watch return the object. Other objects must not be added from the response to a write. */
  isInView: (object: T) => boolean;
  clock: Clock;
  logger: Logger;
}

/**
 * The objects that a reflector knows. Applies lists, events and own writes in the order of resource versions, and
 * calls the handlers.
 */
export class ObjectCache<T extends KubeObject> {
  readonly #options: CacheOptions<T>;
  readonly #store: IndexedStore<T>;
  readonly #pending: PendingWrites;
  readonly #handlers = new Set<ReflectorHandlers<T>>();
  /** Own writes that were added to the cache and that no list or event has confirmed yet. */
  readonly #unechoed = new Set<string>();
  #streamVersion: string | undefined;
  #handlerErrors = 0;

  constructor(options: CacheOptions<T>) {
    this.#options = options;
    this.#store = new IndexedStore(options.indexes, options.maxUncompressed);
    this.#pending = new PendingWrites(options.clock);
  }

  get store(): Store<T> {
    return this.#store;
  }

  /** Everything up to this resource version has been seen. */
  get streamVersion(): string | undefined {
    return this.#streamVersion;
  }

  get handlerErrors(): number {
    return this.#handlerErrors;
  }

  addHandlers(handlers: ReflectorHandlers<T>): () => void {
    this.#handlers.add(handlers);
    for (const object of this.#store.list()) this.#guard(() => handlers.added?.(object));
    return () => this.#handlers.delete(handlers);
  }

  /**
   * Adds an object of an unfinished first list, so that the whole list need not be in memory. Not for later lists,
   * whose objects could be older than the cached objects.
   */
  listed(object: T): void {
    this.#put(object, 'list');
  }

  /** Whether this version of the object is cached, so that handlers need no event. */
  holds(object: T): boolean {
    const key = keyOf(object);
    const known = this.#store.versionOf(key);
    const { uid, resourceVersion } = object.metadata;
    const isSame = known?.uid === uid && known?.resourceVersion === resourceVersion;
    return isSame && !this.#unechoed.has(key);
  }

  /**
   * Applies a complete list. A cached object that is not in the list was deleted, unless it is newer than the list (an
   * own write).
   * @param items null: an object that was cached in this version when its page arrived
   * @param rewritten the server's history was rewritten: the list replaces everything known
   */
  replace(items: ReadonlyMap<string, T | null>, resourceVersion: string, rewritten: boolean): void {
    if (rewritten) this.#pending.clear();
    for (const item of items.values()) if (item !== null) this.#put(item, rewritten ? 'rewrite' : 'list');
    for (const key of [...this.#store.keys()]) {
      if (items.has(key)) continue;
      const version = this.#store.versionOf(key)?.resourceVersion;
      const object = rewritten || !isLater(version, resourceVersion) ? this.#store.get(key) : undefined;
      if (object !== undefined) this.#remove(object, object);
    }
    this.#streamVersion = resourceVersion;
    this.#pending.purge(resourceVersion);
  }

  /** ADDED and MODIFIED are treated alike: the content of the cache decides between them. */
  observed(object: T): void {
    this.#put(object, 'event');
    this.#advance(object.metadata.resourceVersion);
  }

  observedDelete(object: T): void {
    const known = this.#store.get(keyOf(object));
    if (known !== undefined && known.metadata.uid === object.metadata.uid) this.#remove(known, object);
    else this.#pending.observedDelete(keyOf(object), object.metadata.uid);
    this.#advance(object.metadata.resourceVersion);
  }

  bookmark(resourceVersion: string | undefined): void {
    this.#advance(resourceVersion);
    this.#pending.purge(this.#streamVersion);
  }

  /** Adds the response to an own write. */
  noteWrite(written: T): void {
    const key = keyOf(written);
    const version = written.metadata.resourceVersion;
    // The stream is past this version: the cache has this version or a newer version, or saw the deletion.
    if (version === undefined || compareResourceVersions(this.#streamVersion, version) >= 0) return;
    this.#pending.noteWrite(key, version);
    const known = this.#store.get(key);
    if (!this.#options.isInView(written) || (known !== undefined && !isNewer(written, known))) return;
    if (known !== undefined && known.metadata.uid !== written.metadata.uid) this.#remove(known, known);
    this.#store.set(written);
    this.#unechoed.add(key);
  }

  noteDelete(key: string, uid: string): void {
    this.#pending.noteDelete(key, uid);
  }

  isCurrent(key: string): boolean {
    return this.#pending.isCurrent(key, this.#store.versionOf(key), this.#streamVersion);
  }

  /** Adds the response to a live read of an object. `before` is the cached object when the read was sent. */
  noteRead(key: string, before: T | undefined, found: T | undefined): void {
    const known = this.#store.get(key);
    if (found !== undefined) {
      // The stream reported a deletion during the read, so the read is older.
      if (known === undefined && before !== undefined) return;
      this.#put(found, 'list');
    } else if (known !== undefined && isSameVersion(known.metadata, before?.metadata)) {
      this.#remove(known, known);
    }
  }

  #put(object: T, origin: 'list' | 'event' | 'rewrite'): void {
    const key = keyOf(object);
    const old = this.#store.get(key);
    if (
      old !== undefined &&
      old.metadata.uid !== object.metadata.uid &&
      (origin === 'rewrite' || isNewer(object, old))
    ) {
      // The object was deleted and created again while no watch was open.
      this.#remove(old, old);
      this.#put(object, origin);
      return;
    }
    if (old === undefined) {
      this.#store.set(object);
      this.#notify((handlers) => handlers.added?.(object));
      return;
    }
    const order = compareResourceVersions(object.metadata.resourceVersion, old.metadata.resourceVersion);
    if (order < 0 && origin !== 'rewrite') return;
    const confirmed = this.#unechoed.delete(key);
    if (order === 0 && origin !== 'event' && !confirmed) return;
    this.#store.set(object);
    this.#notify((handlers) => handlers.updated?.(object, old));
  }

  /** @param last the last state to report, because a DELETED event may have a newer state than the cache. */
  #remove(known: T, last: T): void {
    const key = keyOf(known);
    this.#store.delete(key);
    this.#unechoed.delete(key);
    this.#pending.observedDelete(key, known.metadata.uid);
    this.#notify((handlers) => handlers.deleted?.(last));
  }

  #advance(resourceVersion: string | undefined): void {
    if (compareResourceVersions(resourceVersion, this.#streamVersion) > 0)
      this.#streamVersion = resourceVersion;
  }

  #notify(call: (handlers: ReflectorHandlers<T>) => void): void {
    for (const handlers of this.#handlers) this.#guard(() => call(handlers));
  }

  #guard(call: () => void): void {
    try {
      call();
    } catch (error) {
      this.#handlerErrors += 1;
      this.#options.logger.error(
        { err: error, kind: this.#options.kind },
        'a handler of cache events threw an error; continuing',
      );
    }
  }
}

const isLater = (a: string | undefined, b: string | undefined) => compareResourceVersions(a, b) > 0;

const isNewer = (a: KubeObject, b: KubeObject) =>
  isLater(a.metadata.resourceVersion, b.metadata.resourceVersion);
