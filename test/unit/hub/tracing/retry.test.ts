import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseRetryAfter, retryDelayMs } from '../../../../src/hub/tracing/retry.ts';

const attempts = fc.integer({ min: 1, max: 10_000 });
const share = fc.double({ min: 0, max: 0.999, noNaN: true });

describe('the delay until a message is sent again', () => {
  test('grows from one second to ten minutes while the backend is unavailable', () => {
    const longest = (attempt: number) => retryDelayMs(attempt, { refused: false }, () => 1);
    expect([1, 2, 7, 10, 11, 1000].map(longest)).toEqual([1e3, 2e3, 64e3, 512e3, 600e3, 600e3]);
    expect(retryDelayMs(5, { refused: false }, () => 0)).toBe(0);
  });

  test('is one to ten minutes when the backend rejected the message', () => {
    fc.assert(
      fc.property(attempts, share, (attempt, random) => {
        const delay = retryDelayMs(attempt, { refused: true }, () => random);
        expect(delay).toBeGreaterThanOrEqual(60_000);
        expect(delay).toBeLessThanOrEqual(600_000);
      }),
    );
  });

  test('is at least what the backend asks for, up to an hour', () => {
    const asked = (retryAfterMs: number) => retryDelayMs(1, { refused: false, retryAfterMs }, () => 0);
    expect([5_000, 1e12].map(asked)).toEqual([5_000, 3_600_000]);
  });
});

test.each([
  [null, undefined],
  ['120', 120_000],
  ['0', 0],
  ['Thu, 01 Jan 2026 00:01:00 GMT', 60_000],
  ['Wed, 31 Dec 2025 00:00:00 GMT', 0],
  ['-5', undefined],
  ['soon', undefined],
])('parses Retry-After %j as %j ms', (header, expected) => {
  expect(parseRetryAfter(header, new Date('2026-01-01T00:00:00Z'))).toBe(expected);
});
