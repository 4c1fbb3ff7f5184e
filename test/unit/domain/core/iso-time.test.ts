import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isoTime } from '../../../../src/domain/core/iso-time.ts';

test('returns the same text as toISOString for any times in any order', () => {
  fc.assert(
    fc.property(fc.array(fc.date({ noInvalidDate: true }), { minLength: 1 }), (times) => {
      expect(times.map(isoTime)).toEqual(times.map((time) => time.toISOString()));
    }),
  );
});

test.each([
  '1969-12-31T23:59:59.999Z',
  '2026-01-01T00:00:00.000Z',
  '2026-01-01T23:59:59.009Z',
  '2024-02-29T10:09:08.070Z',
  '+010000-01-01T00:00:00.001Z',
  '-000001-12-31T12:00:00.100Z',
])('formats %s', (text) => {
  expect(isoTime(new Date(text))).toBe(text);
});

test('throws for an invalid date, and still formats the next one', () => {
  expect(() => isoTime(new Date(Number.NaN))).toThrow(RangeError);
  expect(isoTime(new Date(1))).toBe('1970-01-01T00:00:00.001Z');
});

test('formats more days than it remembers', () => {
  const times = Array.from({ length: 2500 }, (_, day) => new Date(Date.UTC(2020, 0, day, 12)));
  expect([...times, ...times].map(isoTime)).toEqual([...times, ...times].map((time) => time.toISOString()));
});
