import pg from 'pg';
import { expect, test } from 'vitest';
import { parseTime } from '../../../../../src/hub/store/core/connection.ts';

const TIMESTAMPTZ = 1184;

test.each([
  '2026-11-22 19:12:33+00',
  '2026-11-22 19:12:33.1+00',
  '2026-11-22 19:12:33.125+00',
  '2026-11-22 19:12:33.125999+00',
  '0099-01-02 00:00:00+00',
  '2026-02-28 23:59:59.999+00',
  '2026-11-22 19:12:33.125+05:30',
  '2026-11-22 19:12:33-03',
  '12026-11-22 19:12:33.125+00',
  '0044-03-15 12:00:00+00 BC',
])('parses %s to the same time as pg', (text) => {
  const time = parseTime(text);
  expect(time).toEqual(pg.types.getTypeParser(TIMESTAMPTZ, 'text')(text));
  expect(time.getTime()).not.toBeNaN();
});

test('parses infinity to the same value as pg', () => {
  expect(parseTime('infinity')).toBe(Number.POSITIVE_INFINITY);
});
