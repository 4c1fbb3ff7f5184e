import { expect, test } from 'vitest';
import {
  answerPoll,
  type DeviceLogin,
  isDeviceCode,
  newDeviceCode,
  newUserCode,
  parseUserCode,
  personTokenEnd,
} from '../../../../src/domain/access/device-login.ts';

const NOW = new Date('2026-11-30T12:00:00Z');
const at = (seconds: number) => new Date(NOW.getTime() + seconds * 1000);
const login = (more: Partial<DeviceLogin> = {}): DeviceLogin => ({
  state: 'pending',
  expiresAt: at(600),
  pollSeconds: 5,
  polledAt: null,
  ...more,
});

test.each<[string, number, number, Date | null]>([
  ['for 12 hours', 0, 86_400, at(43_200)],
  ['until the end of the longest session', -3600, 7200, at(3600)],
  ['not at all when the sign-in is too old', -7200, 7200, null],
])('gives a token of a person %s', (_what, signedIn, maxSeconds, end) => {
  expect(personTokenEnd(NOW, at(signedIn), maxSeconds)).toEqual(end);
});

test.each<[string, Partial<DeviceLogin>, object]>([
  ['the person has not decided', {}, { kind: 'authorization_pending' }],
  ['the interval has passed', { polledAt: at(-5) }, { kind: 'authorization_pending' }],
  ['the interval has almost passed', { polledAt: at(-4.6) }, { kind: 'authorization_pending' }],
  ['a poll comes too early', { polledAt: at(-1) }, { kind: 'slow_down', pollSeconds: 10 }],
  [
    'polls keep coming too early',
    { polledAt: at(-1), pollSeconds: 60 },
    { kind: 'slow_down', pollSeconds: 60 },
  ],
  ['a person has approved', { state: 'approved', polledAt: at(-1) }, { kind: 'granted' }],
  ['a person has denied', { state: 'denied' }, { kind: 'access_denied' }],
  ['the time is over', { expiresAt: NOW }, { kind: 'expired_token' }],
  ['the time is over after the approval', { state: 'approved', expiresAt: NOW }, { kind: 'expired_token' }],
  ['the code was used', { state: 'used' }, { kind: 'replayed' }],
  ['the code was used, also when the time is over', { state: 'used', expiresAt: NOW }, { kind: 'replayed' }],
])('answers a poll when %s', (_when, more, expected) => {
  expect(answerPoll(login(more), NOW)).toEqual(expected);
});

test('reads a code as people type it', () => {
  expect(parseUserCode(' wdjb mjht ')).toBe('WDJB-MJHT');
  expect(parseUserCode('wdjbmjht')).toBe('WDJB-MJHT');
  expect(parseUserCode('WDJB-MJH')).toBeNull();
  expect(parseUserCode('WDJA-MJHT')).toBeNull();
  expect(parseUserCode('')).toBeNull();
});

test('creates codes that differ and can be read again', () => {
  const codes = Array.from({ length: 100 }, newUserCode);
  expect(codes.map(parseUserCode)).toEqual(codes);
  expect(new Set(codes).size).toBe(100);
  expect(isDeviceCode(newDeviceCode())).toBe(true);
  expect(isDeviceCode('WDJB-MJHT')).toBe(false);
});
