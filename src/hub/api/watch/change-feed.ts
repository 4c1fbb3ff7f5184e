import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '../../../domain/core/logger.ts';
import type { Sweep, SweepPlace } from '../../store/events/change-sweep.ts';
import { ApiError } from '../core/errors.ts';
import { type ChangeHint, parseHint } from './change-hint.ts';
import { type ChangeLine, changeKey, lineOf } from './pending-changes.ts';
import { SeenChanges } from './seen-changes.ts';
import { WatchReader } from './watch-reader.ts';
import { WatchedTenants } from './watched-tenants.ts';

/**
 * Distributes changes to the streams of this process. Notifications arrive at once, and can be lost. Therefore a sweep finds
 * the same changes in the database, every few seconds, and only while streams exist.
 */

/** Time between two sweeps, and so the delay of a change whose notification was lost. */
const SWEEP_MS = 10_000;
const RETRY_SECONDS = 10;

const FULL = 'Too many streams of changes are open. Close one, or try again later.';

/** Maximum number of streams, per tenant and of all tenants. */
export interface MaxReaders {
  readonly tenant: number;
  readonly all: number;
}

export interface ChangeFeedOptions {
  /** Makes changes of exactly these tenants send notifications. */
  readonly announce: (tenantIds: readonly string[]) => Promise<void>;
  /** Reads the changes of these tenants since a place. null: only the place. */
  readonly sweep: (tenantIds: readonly string[], since: SweepPlace | null) => Promise<Sweep>;
  readonly most: MaxReaders;
  readonly logger: Logger;
  readonly sweepMs?: number;
}

export class ChangeFeed {
  readonly #options: ChangeFeedOptions;
  readonly #readers = new Map<string, Set<WatchReader>>();
  readonly #seen = new SeenChanges();
  readonly #watched: WatchedTenants;
  #count = 0;
  #place: SweepPlace | null = null;
  /** The first sweep since there are streams. */
  #placed: Promise<void> | null = null;
  #stop = new AbortController();

  constructor(options: ChangeFeedOptions) {
    this.#options = options;
    this.#watched = new WatchedTenants(options.announce, () => [...this.#readers.keys()]);
  }

  /** Number of open streams. */
  get size(): number {
    return this.#count;
  }

  /**
   * Adds a stream. The caller closes it. Changes that are committed after the returned promise has resolved reach the stream.
   * @throws ApiError 429, StoreError
   */
  async open(tenantId: string): Promise<WatchReader> {
    this.#makeRoom(tenantId);
    const reader = new WatchReader(tenantId);
    const readers = this.#readers.get(tenantId) ?? new Set();
    this.#readers.set(tenantId, readers.add(reader));
    this.#count += 1;
    this.#placed ??= this.#start();
    try {
      await Promise.all([this.#placed, this.#watched.add(tenantId)]);
      return reader;
    } catch (error) {
      this.close(reader);
      throw error;
    }
  }

  /** Removes a stream. Safe to call twice. */
  close(reader: WatchReader): void {
    const readers = this.#readers.get(reader.tenantId);
    if (readers?.delete(reader) !== true) return;
    this.#count -= 1;
    if (readers.size === 0) this.#readers.delete(reader.tenantId);
    if (this.#count > 0) return;
    this.#stop.abort();
    this.#placed = null;
    this.#place = null;
    this.#seen.clear();
    this.#watched.forget();
  }

  /** Receives payloads of notifications. */
  notify(payloads: Iterable<string>): void {
    if (this.#count === 0) return;
    for (const payload of payloads) {
      const hint = parseHint(payload);
      if (hint !== null) this.#distribute(hint);
    }
  }

  /**
   * Called when notifications may have been lost. Every client reads again. After a failover, the database can use numbers of
   * transactions again, so no change counts as sent.
   */
  lost(): void {
    this.#seen.clear();
    this.#resetAll();
  }

  #resetAll(): void {
    for (const readers of this.#readers.values()) this.#send(readers, null);
  }

  /** The tenant with the most streams loses its newest one to a tenant that has fewer, including the new one. */
  #makeRoom(tenantId: string): void {
    const { most } = this.#options;
    const own = this.#readers.get(tenantId)?.size ?? 0;
    const full = new ApiError(429, FULL, { retryAfterSeconds: RETRY_SECONDS });
    if (own >= most.tenant) throw full;
    if (this.#count < most.all) return;
    const largest = [...this.#readers.values()].reduce((a, b) => (b.size > a.size ? b : a));
    const newest = [...largest].at(-1);
    if (newest === undefined || largest.size <= own + 1) throw full;
    newest.giveWay();
    this.close(newest);
  }

  #distribute(hint: ChangeHint): void {
    const { tenantId } = hint;
    if (tenantId === null) {
      this.#resetAll();
      return;
    }
    const line = lineOf(hint);
    const readers = this.#readers.get(tenantId);
    if (readers !== undefined && (line === null || this.#seen.add(line.key))) this.#send(readers, line);
  }

  #send(readers: Iterable<WatchReader>, line: ChangeLine | null): void {
    for (const reader of readers) reader.add(line);
  }

  /** Reads the first place, and then sweeps until the last stream is closed. @throws StoreError */
  async #start(): Promise<void> {
    this.#stop = new AbortController();
    const { signal } = this.#stop;
    await this.#watched.renew();
    const { place } = await this.#options.sweep([...this.#readers.keys()], null);
    if (signal.aborted) return;
    this.#place = place;
    void this.#run(signal);
  }

  async #run(signal: AbortSignal): Promise<void> {
    const { sweepMs = SWEEP_MS, logger } = this.#options;
    for (;;) {
      await sleep(sweepMs, undefined, { signal, ref: false }).catch(() => undefined);
      if (signal.aborted) return;
      try {
        await this.#watched.renew();
        const tenantIds = [...this.#readers.keys()];
        const sweep = await this.#options.sweep(tenantIds, this.#place);
        if (signal.aborted) return;
        this.#take(sweep, new Set(tenantIds));
      } catch (error) {
        // The next sweep continues from the same place, so nothing is lost.
        logger.warn({ err: String(error) }, 'failed to find changes for streams; next: none, it is retried');
      }
    }
  }

  /** @param swept the tenants whose changes the sweep has read */
  #take(
    { place, changes, isComplete, fullTenants, changedListeners }: Sweep,
    swept: ReadonlySet<string>,
  ): void {
    this.#place = place;
    if (!isComplete) this.lost();
    if (changedListeners.includes(null)) this.#resetAll();
    // The next sweep begins after this one, which does not have the changes of a tenant whose first stream opened meanwhile.
    for (const [tenantId, readers] of this.#readers) if (!swept.has(tenantId)) this.#send(readers, null);
    for (const owner of [...changedListeners, ...fullTenants]) {
      if (owner !== null) this.#send(this.#readers.get(owner) ?? [], null);
    }
    for (const change of changes) {
      const readers = this.#readers.get(change.tenantId);
      if (readers !== undefined && this.#seen.add(changeKey(change))) this.#send(readers, lineOf(change));
    }
    this.#seen.advance();
  }
}
