/**
 * The windows of patterns: every sequence of `size` characters in them. Only hashes of 32 bits are kept, 4 bytes for
 * each window. If two windows have the same hash, a few more characters of a text are masked.
 */
export class PatternWindows {
  readonly #size: number;
  readonly #hashes: Uint32Array;

  constructor(patterns: readonly string[], size: number) {
    this.#size = size;
    const count = patterns.reduce((sum, { length }) => sum + Math.max(0, length - size + 1), 0);
    this.#hashes = new Uint32Array(count);
    let index = 0;
    for (const pattern of patterns)
      for (let from = 0; from + size <= pattern.length; from += 1, index += 1)
        this.#hashes[index] = this.#hashAt(pattern, from);
    this.#hashes.sort();
  }

  /** The first position, at or after `from`, at which no window of a pattern begins. */
  endOfRun(text: string, from: number): number {
    let end = from;
    while (end + this.#size <= text.length && this.#has(this.#hashAt(text, end))) end += 1;
    return end;
  }

  #hashAt(text: string, from: number): number {
    let hash = 0;
    for (let index = from; index < from + this.#size; index += 1)
      hash = Math.imul(hash ^ text.charCodeAt(index), 0x9e3779b1);
    return hash >>> 0;
  }

  #has(hash: number): boolean {
    let [low, high] = [0, this.#hashes.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#hashes[middle] ?? 0) < hash) low = middle + 1;
      else high = middle;
    }
    return this.#hashes[low] === hash;
  }
}
