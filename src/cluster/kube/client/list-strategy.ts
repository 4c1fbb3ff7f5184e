/**
 * Time after which a server without streamed lists is asked for a streamed list again, because it may have been
 * upgraded.
 */
const ASKED_AGAIN_MS = 3_600_000;
/** Number of consecutive interrupted streams of a list after which lists are paged for a longer time. */
const BREAKS_IN_A_ROW = 2;

interface Broken {
  readonly breaks: number;
  /** Time of `now`, in ms, until which lists are paged; unlimited until a paged list has succeeded. */
  readonly pagesUntil: number;
}

/**
 * Decides whether a list is requested as a stream or in pages. Interruptions are counted separately for each `key`. The
 * same kind in two namespaces has two keys.
 */
export class ListStrategy {
  readonly #now: () => number;
  #noStreamsUntil = 0;
  readonly #broken = new Map<string, Broken>();

  /** @param now in ms, monotonic */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  mayStream(key: string): boolean {
    const now = this.#now();
    return now >= this.#noStreamsUntil && now >= (this.#broken.get(key)?.pagesUntil ?? 0);
  }

  /** Called when the server has reported that it does not support streamed lists. */
  refused(): void {
    this.#noStreamsUntil = this.#now() + ASKED_AGAIN_MS;
  }

  /** Called when a stream was interrupted: the next list is paged, whatever the cause was. */
  interrupted(key: string): void {
    const breaks = (this.#broken.get(key)?.breaks ?? 0) + 1;
    this.#broken.set(key, { breaks, pagesUntil: Number.POSITIVE_INFINITY });
  }

  streamed(key: string): void {
    this.#broken.delete(key);
  }

  paged(key: string): void {
    const breaks = this.#broken.get(key)?.breaks;
    if (breaks === undefined) return;
    const rest = breaks < BREAKS_IN_A_ROW ? 0 : ASKED_AGAIN_MS;
    this.#broken.set(key, { breaks, pagesUntil: this.#now() + rest });
  }
}
