import { describe, expect, test } from 'vitest';
import {
  type CookieSettings,
  cookieSettings,
  isForged,
  returnPath,
} from '../../../../src/domain/access/session-cookie.ts';

const settingsOf = (url: string) => cookieSettings(url) as CookieSettings;

describe('cookies', () => {
  test.each([
    ['https://berth.example.com', '__Host-berth-session', true],
    ['https://berth.example.com/', '__Host-berth-session', true],
    ['https://berth.example.com/team/a', '__Host-berth-session.team.a', true],
    ['https://berth.example.com/team.a', '__Host-berth-session.team~2ea', true],
    ['https://berth.example.com/%C3%A9', '__Host-berth-session.~25C3~25A9', true],
    ['http://localhost:8080', 'berth-session-8080', false],
    ['http://127.0.0.1', 'berth-session-80', false],
    ['http://[::1]:9000/x', 'berth-session-9000.x', false],
  ])('have a name for %s that no other installation on the host has', (url, session, secure) => {
    expect(cookieSettings(url)).toMatchObject({ session, secure });
  });

  test.each([
    null,
    'http://berth.example.com',
    'http://10.0.0.1',
    'http://localhost.example.com',
    'http://127.0.0.2',
    'http://a.localhost',
    'http://127.0.0.1.example.com',
  ])('are not possible for %s', (url) => {
    expect(cookieSettings(url)).toBeNull();
  });
});

describe('a change that carries a cookie', () => {
  const settings = settingsOf('https://berth.example.com/team');

  test('is forged unless it comes from a page of the same origin', () => {
    for (const method of ['POST', 'PATCH', 'PUT', 'DELETE', 'OPTIONS'])
      for (const origin of [
        undefined,
        '',
        'null',
        'https://app.example.com',
        'https://berth.example.com:444',
        'http://berth.example.com',
      ])
        expect(isForged(method, origin, settings)).toBe(true);
    expect(isForged('POST', 'https://berth.example.com', settings)).toBe(false);
  });

  test('is not checked when it only reads', () => {
    for (const method of ['GET', 'HEAD']) expect(isForged(method, undefined, settings)).toBe(false);
  });
});

describe('the path to which a browser returns', () => {
  const settings = settingsOf('https://berth.example.com/team');

  test.each(['/team', '/team/', '/team/console?q=a%20b#c', '/team/a/../b'])('is accepted: %s', (path) => {
    expect(returnPath(path, settings)).toBe(path.replace('a/../b', 'b'));
  });

  test.each([
    '',
    'team',
    '//evil.example',
    '///evil.example',
    '/\\evil.example',
    '/team\\..\\evil',
    '/team/../evil',
    '/team/%2e%2e/evil',
    '/teams',
    '/',
    'https://evil.example/team',
    'javascript:alert(1)',
    '/team/\nx',
    '/team/\tx',
    '/team/ x',
    `/team/${'x'.repeat(2_000)}`,
  ])('is rejected: %j', (path) => {
    expect(returnPath(path, settings)).toBeNull();
  });

  test('may be any path of the host when the public URL has none', () => {
    expect(returnPath('/console', settingsOf('https://berth.example.com'))).toBe('/console');
  });
});
