/** Random numbers that a seed determines. */

export interface Random {
  /** A number from 0 up to, not including, 1. */
  next(): number;
  /** A whole number from 0 up to, not including, `below`. */
  below(below: number): number;
  /** Whether something of this probability (0 to 1) happens. */
  chance(probability: number): boolean;
  /** @throws Error when there is nothing to pick from */
  pick<T>(from: readonly T[]): T;
}

/** mulberry32: 32 bits of state are enough for walks of some thousand steps. */
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
      if (index >= from.length) throw new Error('failed to pick: there is nothing to pick from');
      return from[index] as T;
    },
  };
}
