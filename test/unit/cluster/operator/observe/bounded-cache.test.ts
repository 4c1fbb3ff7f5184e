import { describe, expect, test } from 'vitest';
import { boundedCache } from '../../../../../src/cluster/operator/observe/bounded-cache.ts';

describe('a bounded cache', () => {
  const keys = Array.from({ length: 10 }, (_, index) => ({ index }));
  const filled = (most: number) => {
    const kept = boundedCache<object, number>(most);
    for (const key of keys) kept.set(key, key.index);
    return kept;
  };

  test.each([
    [1, [8, 9]],
    [3, [6, 7, 8, 9]],
    [4, [4, 5, 6, 7, 8, 9]],
    [10, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]],
  ])('keeps at least the last %i values, and at most twice as many', (most, left) => {
    // Each in one of its own: what is asked for counts as new.
    const found = keys.filter((key) => filled(most).get(key) === key.index);
    expect(found.map(({ index }) => index)).toEqual(left);
  });

  test('keeps a value that is read repeatedly', () => {
    const kept = boundedCache<object, number>(2);
    const [first = {}, ...others] = keys;
    kept.set(first, 0);
    for (const key of others) {
      kept.set(key, key.index);
      expect(kept.get(first)).toBe(0);
    }
  });

  test('replaces a value that is set again', () => {
    const kept = boundedCache<object, number>(1);
    const [key = {}, another = {}] = keys;
    kept.set(key, 1);
    kept.set(another, 2);
    kept.set(key, 3);
    expect(kept.get(key)).toBe(3);
  });
});
