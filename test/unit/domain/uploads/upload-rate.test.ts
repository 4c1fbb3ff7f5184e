import { describe, expect, test } from 'vitest';
import { UploadRate } from '../../../../src/domain/uploads/upload-rate.ts';

const KIBIBYTE = 1024;
const MEBIBYTE = 1024 * KIBIBYTE;
const WINDOW_MS = 30_000;

/** A part, and how long the receiver waited for it. */
type Part = readonly [bytes: number, waitedMs: number];

/** After how many ms of waiting the sender is too slow; null: never. */
function slowAfter(parts: readonly Part[]): number | null {
  const rate = new UploadRate(WINDOW_MS);
  let waited = 0;
  for (const [bytes, ms] of parts) {
    waited += ms;
    if (rate.add(bytes, ms)) return waited;
  }
  return null;
}
const steady = (bytes: number, ms: number, count: number): Part[] =>
  Array.from({ length: count }, () => [bytes, ms]);

describe('an upload', () => {
  test.each([
    ['small parts', steady(1 * KIBIBYTE, 13, 65_536)],
    ['large parts', steady(2 * MEBIBYTE, 26_000, 32)],
  ])('of 64 MiB in 15 minutes is fast enough when it arrives in %s', (_, parts) => {
    expect(slowAfter(parts)).toBeNull();
  });

  test('is too slow after the first window when its rate is below the minimum', () => {
    expect(slowAfter(steady(70 * KIBIBYTE, 1_000, 900))).toBe(31_000);
  });

  test('is too slow when it sends much at the start and then a byte just before each timeout', () => {
    expect(slowAfter([[60 * MEBIBYTE, 100], ...steady(1, 29_000, 30)])).toBe(58_100);
  });

  test('is too slow when it sends much only in every second window', () => {
    const burst = [[64 * KIBIBYTE, 29_000] as const, ...steady(64 * KIBIBYTE, 0, 63)];
    expect(slowAfter([...burst, [1, 29_000], ...burst])).toBe(87_000);
  });

  test('may pause in a window in which it sends enough', () => {
    const much = steady(MEBIBYTE, 1_000, 10);
    expect(slowAfter([...much, [1, 25_000], ...much])).toBeNull();
  });

  test('may be slow in total when the receiver does not wait for it', () => {
    expect(slowAfter(steady(1, 0, 10_000))).toBeNull();
  });

  test('may be slow before the end of the first window', () => {
    expect(slowAfter(steady(1, 3_000, 10))).toBeNull();
  });
});
