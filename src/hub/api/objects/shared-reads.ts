/**
 * Shares reads of the same thing: concurrent calls, and calls shortly after. Many people look at one deployment while it rolls
 * out, and each read costs the listener a dozen calls. Finished results are bounded by time and by size.
 */

/** Time for which a result is shared. Then it is freed, also without another read. */
const SHARED_MS = 1000;
/** Maximum size of all finished results, in characters. */
const MAX_CHARACTERS = 32 * 1024 * 1024;

interface Shared<Result> {
  readonly result: Promise<Result>;
  /** Size of the result in characters; null: the read is in progress. */
  characters: number | null;
  timer?: NodeJS.Timeout;
}

export interface SharedReadsOptions<Result> {
  /** Size of a result in characters. */
  readonly sizeOf: (result: Result) => number;
  readonly maxCharacters?: number;
}

export class SharedReads<Result> {
  readonly #options: SharedReadsOptions<Result>;
  /** In the order in which the reads began. */
  readonly #shared = new Map<string, Shared<Result>>();
  #characters = 0;

  constructor(options: SharedReadsOptions<Result>) {
    this.#options = options;
  }

  /** Number and size of the results that are kept. */
  get kept(): { readonly results: number; readonly characters: number } {
    return { results: this.#shared.size, characters: this.#characters };
  }

  /** The result of a read with this key. A failure is shared only with calls that wait for it. */
  get(key: string, read: () => Promise<Result>): Promise<Result> {
    const known = this.#shared.get(key);
    if (known !== undefined) return known.result;
    const shared: Shared<Result> = { result: read(), characters: null };
    this.#shared.set(key, shared);
    shared.result.then(
      (result) => this.#keep(key, shared, this.#options.sizeOf(result)),
      () => this.#remove(key, shared),
    );
    return shared.result;
  }

  #keep(key: string, shared: Shared<Result>, characters: number): void {
    shared.characters = characters;
    shared.timer = setTimeout(() => this.#remove(key, shared), SHARED_MS).unref();
    this.#characters += characters;
    const { maxCharacters = MAX_CHARACTERS } = this.#options;
    for (const [oldest, other] of this.#shared) {
      if (this.#characters <= maxCharacters) return;
      if (other.characters !== null) this.#remove(oldest, other);
    }
  }

  #remove(key: string, shared: Shared<Result>): void {
    if (this.#shared.get(key) !== shared) return;
    this.#shared.delete(key);
    this.#characters -= shared.characters ?? 0;
    clearTimeout(shared.timer);
  }
}
