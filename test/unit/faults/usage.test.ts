import { expect, test } from 'vitest';
import { slopeAnHour } from '../../faults/plans/usage.ts';

const MINUTE_MS = 60_000;
const line = (values: readonly number[]) => values.map((heap, index) => ({ at: index * MINUTE_MS, heap }));
const slope = (values: readonly number[]) => slopeAnHour(line(values), ({ heap }) => heap);

test('growth is what every hour adds, wherever it began', () => {
  expect(slope([57, 57.5, 58, 58.5])).toBeCloseTo(30);
  expect(slope([57, 57])).toBe(0);
});

test('a single sample that is above the others decides nothing, at the end neither; a step that stays does', () => {
  const flat = Array.from({ length: 20 }, () => 57);
  expect(slope([59, ...flat])).toBe(0);
  expect(slope([...flat, 59])).toBe(0);
  expect(slope([...flat, ...flat.map((heap) => heap + 2)])).toBeGreaterThan(1);
});
