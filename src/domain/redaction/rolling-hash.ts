/** Hashes of all parts of a text, each at the cost of a few operations (Rabin and Karp). */

/** A prime below 2^26: a product of two remainders is exact. */
const PRIME = 67_108_859;
/** Of each process its own: nobody makes texts that collide. */
const BASE = 65_536 + Math.floor(Math.random() * (PRIME - 65_537));

const remainder = (value: number): number => value - Math.floor(value / PRIME) * PRIME;

const powers: number[] = [1];

function power(exponent: number): number {
  for (let known = powers.length; known <= exponent; known += 1)
    powers.push(remainder((powers[known - 1] ?? 1) * BASE));
  return powers[exponent] ?? 1;
}

export class RollingHash {
  readonly #ofBeginnings: Int32Array;

  constructor(text: string) {
    const beginnings = new Int32Array(text.length + 1);
    let hash = 0;
    for (let at = 0; at < text.length; at += 1) {
      hash = remainder(hash * BASE + text.charCodeAt(at) + 1);
      beginnings[at + 1] = hash;
    }
    this.#ofBeginnings = beginnings;
  }

  /** Of the part from `from` up to `to`; below 2^26. Equal parts have equal hashes. */
  of(from: number, to: number): number {
    const before = remainder((this.#ofBeginnings[from] ?? 0) * power(to - from));
    const hash = (this.#ofBeginnings[to] ?? 0) - before;
    return hash < 0 ? hash + PRIME : hash;
  }
}
