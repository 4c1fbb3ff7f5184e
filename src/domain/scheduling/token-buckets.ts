export interface Rate {
  /** Tokens that are added per second. */
  readonly perSecond: number;
  /** Maximum number of tokens. */
  readonly burst: number;
}

interface Bucket {
  tokens: number;
  /** The time of `tokens`, in milliseconds. */
  at: number;
}

const MAX_BUCKETS = 10_000;

/** Token buckets by key. Beyond a maximum number, the bucket that was used least recently is dropped, as if it were full. */
export class TokenBuckets {
  readonly #rate: Rate;
  readonly #max: number;
  /** In the order of use, the oldest first. */
  readonly #buckets = new Map<string, Bucket>();

  constructor(rate: Rate, max = MAX_BUCKETS) {
    this.#rate = rate;
    this.#max = max;
  }

  /** Number of buckets. */
  get size(): number {
    return this.#buckets.size;
  }

  /**
   * Takes a token, if the bucket has one.
   * @param now monotonic time in milliseconds
   * @returns 0, or the number of seconds until the bucket has a token
   */
  take(key: string, now: number): number {
    const { tokens, at } = this.#present(key, now);
    const taken = tokens >= 1;
    // Moves to the end of the order.
    this.#buckets.delete(key);
    this.#buckets.set(key, { tokens: taken ? tokens - 1 : tokens, at });
    this.#forget();
    return taken ? 0 : (1 - tokens) / this.#rate.perSecond;
  }

  /** Like `take`, but takes no token. */
  wait(key: string, now: number): number {
    return Math.max(0, 1 - this.#present(key, now).tokens) / this.#rate.perSecond;
  }

  #present(key: string, now: number): Bucket {
    const { perSecond, burst } = this.#rate;
    const former = this.#buckets.get(key) ?? { tokens: burst, at: now };
    const tokens = Math.min(burst, former.tokens + (Math.max(0, now - former.at) * perSecond) / 1000);
    return { tokens, at: Math.max(now, former.at) };
  }

  #forget(): void {
    for (const key of this.#buckets.keys()) {
      if (this.#buckets.size <= this.#max) return;
      this.#buckets.delete(key);
    }
  }
}
