/**
 * Shares reads of the same thing: concurrent calls, and calls shortly after. Many people look at one deployment while it rolls
 * out, and each read costs the listener a dozen calls. Pure, except for the clock.
 */

/** Time for which a result is shared. */
const SHARED_MS = 1000;
const MAX_SHARED = 500;

interface Shared<Result> {
  readonly result: Promise<Result>;
  /** End of the sharing; null: the read is in progress. */
  until: number | null;
}

export class SharedReads<Result> {
  readonly #shared = new Map<string, Shared<Result>>();
  readonly #now: () => number;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** The result of a read with this key. A failure is shared only with calls that wait for it. */
  get(key: string, read: () => Promise<Result>): Promise<Result> {
    const known = this.#shared.get(key);
    if (known !== undefined && (known.until === null || known.until > this.#now())) return known.result;
    const shared: Shared<Result> = { result: read(), until: null };
    this.#shared.set(key, shared);
    const end = (until: number) => {
      shared.until = until;
      if (until <= this.#now() && this.#shared.get(key) === shared) this.#shared.delete(key);
      this.#forget();
    };
    shared.result.then(
      () => end(this.#now() + SHARED_MS),
      () => end(0),
    );
    return shared.result;
  }

  /** Removes results that are over, when there are many. */
  #forget(): void {
    if (this.#shared.size < MAX_SHARED) return;
    const now = this.#now();
    for (const [key, { until }] of this.#shared) if (until !== null && until <= now) this.#shared.delete(key);
    if (this.#shared.size >= MAX_SHARED) this.#shared.clear();
  }
}
