import { describe, expect, test } from 'vitest';
import { withTlsMode } from '../../../../../src/hub/store/core/tls-mode.ts';

const of = (query: string) => `postgres://berth:secret-1@db.example/berth?${query}`;

describe('withTlsMode', () => {
  test.each([
    'postgres://berth@db.example/berth',
    of('application_name=x'),
    of('sslmode=disable'),
    of('sslmode=no-verify'),
    of('sslmode=verify-full&sslrootcert=/ca.crt'),
    of('sslmode=prefer&uselibpqcompat=true'),
  ])('keeps %s', (url) => expect(withTlsMode(url)).toBe(url));

  test('checks the certificate and the name for require', () =>
    expect(withTlsMode(of('a=b&sslmode=require&c=d'))).toBe(of('a=b&sslmode=verify-full&c=d')));

  test('checks only the certificate for verify-ca', () =>
    expect(withTlsMode(of('sslmode=verify-ca&sslrootcert=/ca.crt'))).toBe(
      of('sslmode=verify-ca&sslrootcert=/ca.crt&uselibpqcompat=true'),
    ));

  test.each([
    ['sslmode=prefer', /"prefer" allows unencrypted connections.*next: set one of disable/],
    ['sslmode=allow', /"allow" allows unencrypted/],
    ['sslmode=verify_full', /the value is unknown; next: set one of .*verify-full/],
    ['sslmode=', /the value is unknown/],
    ['sslmode=verify-ca', /verify-ca needs sslrootcert/],
  ])('rejects %s and does not show the password', (query, message) => {
    expect(() => withTlsMode(of(query))).toThrow(message);
    expect(() => withTlsMode(of(query))).not.toThrow(/secret-1/);
  });
});
