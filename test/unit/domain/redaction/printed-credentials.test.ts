import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { maskCredentials, outputTail } from '../../../../src/domain/redaction/printed-credentials.ts';

/** What a kubelet passes on of a container at most. */
const MOST_OF_A_CONTAINER = 4096;

describe('maskCredentials', () => {
  test.each([
    ['no such table: users', 'no such table: users'],
    ['connect postgres://app:s3c@ret@db:5432/x', 'connect postgres://***@db:5432/x'],
    ['reg.example.com/app@sha256:abc is not there', 'reg.example.com/app@sha256:abc is not there'],
    ['{"api_key": "with blanks, and commas", "b": 1}', '{"api_key": "***", "b": 1}'],
    ['{\\"api_key\\": \\"s3cret\\", \\"b\\": 1}', '{\\"api_key\\": \\"***\\", \\"b\\": 1}'],
    ['authorization:bearer s3cret', 'authorization:bearer ***'],
    ['DB_PASSWORD=***', 'DB_PASSWORD=***'],
    ['PASSWORD=a=b:c next=1', 'PASSWORD=*** next=1'],
    ["password = 'never closed\nnext", "password = '***\nnext"],
    ['PASSWORD=', 'PASSWORD='],
    ['cut in postgres://app:s3cr…', 'cut in postgres://***…'],
    ['cut after http://db…', 'cut after http://db…'],
    [`${'x'.repeat(500)}-token=s3cret`, `${'x'.repeat(500)}-token=***`],
  ])('masks only the credentials in %j', (text, masked) => {
    expect(maskCredentials(text)).toBe(masked);
    expect(maskCredentials(masked)).toBe(masked);
  });

  test('masks the value after any sensitive name', () => {
    const name = fc.constantFrom(
      'password',
      'DB_PASSWD',
      'x-api-key',
      'clientSecret',
      'TOKEN',
      'credentials',
    );
    const separator = fc.constantFrom('=', ': ', '": "', ' = ', "': '", '\\": \\"');
    const value = fc.stringMatching(/^[A-Za-z0-9+/=:_.-]{6,200}$/);
    const before = fc.string({ maxLength: 200 });
    fc.assert(
      fc.property(before, name, separator, value, (noise, named, by, secret) => {
        fc.pre(!noise.includes(secret));
        expect(maskCredentials(`${noise} ${named}${by}${secret}`)).not.toContain(secret);
      }),
    );
  });
});

describe('an adversarial text', () => {
  const BAD = [
    ...['token-', 'token=', 'token:', 'a:', '=', '"token" :', 'a-', 'a-://', '://', '://a@', 'token= ', 'a '],
    ...['token:"', 'token:\\"', '"', '\\', 'token\n', 'token: bearer ', '_', 'api_', 'password', ' '],
  ];
  // An expression that starts again at each name took seconds for one of these. Here each is read 50 times.
  test.each(BAD)('is masked in linear time when it repeats %j', (part) => {
    const text = part.repeat(Math.ceil(MOST_OF_A_CONTAINER / part.length));
    for (let count = 0; count < 50; count += 1) {
      expect(maskCredentials(`${text}${count}`).length).toBeGreaterThan(0);
      expect(maskCredentials(`${text}=${count}`).length).toBeGreaterThan(0);
    }
  });

  test('is cut if it is longer than any output of a container', () => {
    expect(maskCredentials('token-'.repeat(1_000_000)).length).toBeLessThan(20_000);
  });
});

describe('the output tail of a container', () => {
  test('keeps the end of the output', () => {
    expect(outputTail('short')).toBe('short');
    const kept = outputTail(`${'log line\n'.repeat(400)}panic: no such table`);
    expect(kept).toHaveLength(1000);
    expect(kept).toMatch(/^….*panic: no such table$/s);
  });

  test('contains no half of a credential, because it is masked before it is cut', () => {
    const kept = outputTail(`TOKEN=${'s3cret'.repeat(200)} ${'x'.repeat(900)}`);
    expect(kept).not.toContain('s3cret');
  });
});
