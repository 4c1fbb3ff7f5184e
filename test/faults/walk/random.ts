/** Random numbers that a seed determines. */

/** Random numbers. */
export interface Random {
  /** A number from 0 (inclusive) to 1 (exclusive). */
  next(): number;
  /** An integer from 0 (inclusive) to `below` (exclusive). */
  below(below: number): number;
  /** True with this probability (0 to 1). */
  chance(probability: number): boolean;
  /** A random element. @throws Error if the list is empty */
  pick<T>(from: readonly T[]): T;
}

/** mulberry32. Its 32 bits of state are enough for walks of some thousand steps. */
export function createRandom(seed: number): Random {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const below = (bound: number): number => Math.floor(next() * bound);
  return {
    next,
    below,
    chance: (probability) => next() < probability,
    pick: <T>(from: readonly T[]): T => {
      const index = below(from.length);
      if (index >= from.length) throw new Error('failed to pick from an empty list');
      return from[index] as T;
    },
  };
}
