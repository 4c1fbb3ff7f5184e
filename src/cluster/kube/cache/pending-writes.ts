import type { Clock } from '../client/clock.ts';
import { compareResourceVersions } from '../client/object.ts';
import type { ObjectVersion } from './compressed-store.ts';

/** Own deletes without an event are forgotten after this time. */
const DELETE_MEMORY_MS = 5 * 60_000;

/**
 * Own writes that the cache has not seen yet. With this list, the caller never acts on a cache that is older than its
 * last own write. A write has been seen when the cached object, or the stream as a whole, has reached its resource
 * version. The rule is correct because events of one resource type arrive in the order of their versions, also with a
 * selector.
 */
export class PendingWrites {
  readonly #clock: Clock;
  readonly #versions = new Map<string, string>();
  readonly #deletes = new Map<string, { uid: string; at: number }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  noteWrite(key: string, resourceVersion: string): void {
    if (compareResourceVersions(this.#versions.get(key), resourceVersion) < 0) {
      this.#versions.set(key, resourceVersion);
    }
  }

  noteDelete(key: string, uid: string): void {
    this.#deletes.set(key, { uid, at: this.#clock.now() });
  }

  isCurrent(key: string, cached: ObjectVersion | undefined, streamVersion: string | undefined): boolean {
    const gone = this.#deletes.get(key);
    if (gone !== undefined && cached?.uid === gone.uid && !cached.isLeaving) return false;
    const written = this.#versions.get(key);
    if (written === undefined) return true;
    const caughtUp =
      compareResourceVersions(streamVersion, written) >= 0 ||
      compareResourceVersions(cached?.resourceVersion, written) >= 0;
    if (caughtUp) this.#versions.delete(key);
    return caughtUp;
  }

  /** Called when the object with this uid has left the cache. */
  observedDelete(key: string, uid: string | undefined): void {
    if (this.#deletes.get(key)?.uid === uid) this.#deletes.delete(key);
  }

  /** Drops the writes that the stream has passed. The removal is cheap enough for every bookmark. */
  purge(streamVersion: string | undefined): void {
    for (const [key, version] of this.#versions) {
      if (compareResourceVersions(streamVersion, version) >= 0) this.#versions.delete(key);
    }
    const oldest = this.#clock.now() - DELETE_MEMORY_MS;
    for (const [key, { at }] of this.#deletes) if (at < oldest) this.#deletes.delete(key);
  }

  /** Called when the server's history was rewritten (etcd restored): earlier versions are no longer comparable. */
  clear(): void {
    this.#versions.clear();
    this.#deletes.clear();
  }
}
