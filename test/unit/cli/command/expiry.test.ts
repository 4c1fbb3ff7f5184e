import { expect, test } from 'vitest';
import { expiryOf } from '../../../../src/cli/command/expiry.ts';

const now = new Date('2026-01-15T00:00:00Z');

test.each([
  ['12h', '2026-01-15T12:00:00.000Z'],
  ['90d', '2026-04-15T00:00:00.000Z'],
  ['2030-01-31T00:00:00Z', '2030-01-31T00:00:00.000Z'],
  ['2030-01-31T00:00:00.5+02:00', '2030-01-30T22:00:00.500Z'],
])('reads %s as %s', (text, time) => {
  expect(expiryOf(text, now)?.toISOString()).toBe(time);
});

test('reads no text as no expiry', () => {
  expect(expiryOf(undefined, now)).toBeUndefined();
});

test.each([
  'soon',
  '0d',
  '2020-01-01T00:00:00Z',
  '2030-13-01T00:00:00Z',
  '2030-02-30T00:00:00Z',
  '2030-01-31',
])('rejects %s and names the option', (text) => {
  expect(() => expiryOf(text, now)).toThrow(`--expires: "${text}" is`);
});
