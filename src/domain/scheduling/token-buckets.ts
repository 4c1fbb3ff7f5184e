/** How often something may happen. */
export interface Rate {
  /** Tokens that come back in a second. */
  readonly perSecond: number;
  /** Most tokens: what may happen at once after a rest. */
  readonly burst: number;
}

interface Bucket {
  tokens: number;
  /** When `tokens` was right, in milliseconds. */
  at: number;
}

const MAX_BUCKETS = 10_000;

/**
 * Token buckets by key. A bounded number is remembered: beyond it the one that was used least recently is forgotten, as
 * if it were full again, which most likely it is.
 */
export class TokenBuckets {
  readonly #rate: Rate;
  readonly #max: number;
  /** In the order of use, oldest first. */
  readonly #buckets = new Map<string, Bucket>();

  constructor(rate: Rate, max = MAX_BUCKETS) {
    this.#rate = rate;
    this.#max = max;
  }

  /** How many keys are remembered. */
  get size(): number {
    return this.#buckets.size;
  }

  /**
   * Takes a token, if there is one.
   * @param now milliseconds of a clock that never goes back
   * @returns 0, or in how many seconds there will be one
   */
  take(key: string, now: number): number {
    const { tokens, at } = this.#present(key, now);
    const taken = tokens >= 1;
    // Again at the end of the order.
    this.#buckets.delete(key);
    this.#buckets.set(key, { tokens: taken ? tokens - 1 : tokens, at });
    this.#forget();
    return taken ? 0 : (1 - tokens) / this.#rate.perSecond;
  }

  /** As `take`, but takes none. */
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
