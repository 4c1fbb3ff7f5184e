/** For so long a server is not asked again for what it has not. An API server that is upgraded may have it then. */
const ASKED_AGAIN_MS = 3_600_000;
/** After so many streams of a list in a row that broke off, it is not chance. */
const BREAKS_IN_A_ROW = 2;

interface Broken {
  readonly breaks: number;
  /** In ms of `now`; until a list in pages has come: without end. */
  readonly pagesUntil: number;
}

/**
 * Whether a list is asked for as a stream or in pages. What is told apart by `key` knows nothing of each other's breaks: the
 * same kind in two namespaces is two.
 */
export class ListWays {
  readonly #now: () => number;
  #noStreamsUntil = 0;
  readonly #broken = new Map<string, Broken>();

  /** @param now in ms, steady */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  mayStream(key: string): boolean {
    const now = this.#now();
    return now >= this.#noStreamsUntil && now >= (this.#broken.get(key)?.pagesUntil ?? 0);
  }

  /** The server has said that it has no streamed lists. */
  refused(): void {
    this.#noStreamsUntil = this.#now() + ASKED_AGAIN_MS;
  }

  /** A stream began and did not come to its end: the next list comes in pages, whatever it was that stood in the way. */
  broke(key: string): void {
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
