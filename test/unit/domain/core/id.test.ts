import { expect, test } from 'vitest';
import { UUID_PATTERN, uuidv7 } from '../../../../src/domain/core/id.ts';

test('returns a UUID of version 7 and RFC variant that contains the time', () => {
  const before = Date.now();
  const id = uuidv7();
  expect(id).toMatch(UUID_PATTERN);
  expect(id[14]).toBe('7');
  expect('89ab').toContain(id[19]);
  const time = Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16);
  expect(time).toBeGreaterThanOrEqual(before);
});

test('returns ascending ids within one millisecond, past the end of the counter, and when the clock moves back', () => {
  const now = Date.now() + 60_000;
  const times = [
    ...Array.from({ length: 10_000 }, () => now),
    now - 5_000,
    ...Array.from({ length: 100 }, () => now - 5_000),
  ];
  const ids = times.map((time) => uuidv7(time));
  expect(new Set(ids).size).toBe(ids.length);
  expect(ids.toSorted()).toEqual(ids);
});

test('returns ids with random last digits, from which names are derived', () => {
  const tails = new Set(Array.from({ length: 10_000 }, () => uuidv7().slice(-8)));
  expect(tails.size).toBeGreaterThan(9_990);
});
