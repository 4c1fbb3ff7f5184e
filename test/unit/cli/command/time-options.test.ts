import { expect, test } from 'vitest';
import { expiryTime, pastTime } from '../../../../src/cli/command/time-options.ts';
import { UsageError } from '../../../../src/cli/command/usage-error.ts';

const now = new Date('2026-01-15T00:00:00Z');

test.each([
  ['12h', '2026-01-15T12:00:00.000Z'],
  ['90d', '2026-04-15T00:00:00.000Z'],
  ['2030-01-31T00:00:00Z', '2030-01-31T00:00:00.000Z'],
  ['2030-01-31T00:00:00.5+02:00', '2030-01-30T22:00:00.500Z'],
])('reads %s as %s', (text, time) => {
  expect(expiryTime(text, now).toISOString()).toBe(time);
});

test.each([
  ['30s', '2026-01-14T23:59:30.000Z'],
  ['10m', '2026-01-14T23:50:00.000Z'],
  ['2d', '2026-01-13T00:00:00.000Z'],
  ['2026-01-14', '2026-01-14T00:00:00.000Z'],
  ['2026-01-14T08:00:00+01:00', '2026-01-14T07:00:00.000Z'],
])('converts --since %s to %s', (text, time) => expect(pastTime('--since', text, now)).toBe(time));

test.each(['', 'yesterday', '10', '5 m', '-3h', '1w', '999999999d', '2026-02-30'])(
  'rejects --since %j',
  (text) => {
    expect(() => pastTime('--since', text, now)).toThrow(UsageError);
  },
);

test.each([
  'soon',
  '0d',
  '1m',
  '123456d',
  '2020-01-01T00:00:00Z',
  '2030-13-01T00:00:00Z',
  '2030-02-30T00:00:00Z',
  '2030-01-31',
])('rejects %s and names the option', (text) => {
  expect(() => expiryTime(text, now)).toThrow(`--expires: "${text}" is`);
});
