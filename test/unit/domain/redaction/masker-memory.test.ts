import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, test } from 'vitest';
import { MAX_PATTERN_CHARACTERS, masker } from '../../../../src/domain/redaction/known-secrets.ts';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

/** The second collection waits until the first one has freed its arrays. */
function usage(): NodeJS.MemoryUsage {
  collect();
  collect();
  return process.memoryUsage();
}

/** Bytes that the masker of these patterns holds after it masked a text. */
function heldBytes(patterns: readonly string[], text: string, expected: string) {
  const before = usage();
  const mask = masker(patterns);
  expect(mask?.(text)).toBe(expected);
  const after = usage();
  // Keeps the masker until the memory is measured.
  expect(mask?.(text)).toBe(expected);
  return { arrays: after.arrayBuffers - before.arrayBuffers, heap: after.heapUsed - before.heapUsed };
}

/** Patterns at the bound, without common beginnings. */
const LONG = Array.from({ length: 128 }, (_, index) =>
  `${index}-`
    .padEnd(5, 'x')
    .concat(`${index}/abcdefg-`.repeat(200))
    .slice(0, MAX_PATTERN_CHARACTERS / 128),
);

describe('the memory of a masker', () => {
  test('is 22 bytes for each character at the bound, also when a text was cut', () => {
    const text = `x ${LONG[0]} …${LONG[1]?.slice(9)}`;
    heldBytes(LONG, text, 'x *** …***');
    const { arrays, heap } = heldBytes(LONG, text, 'x *** …***');
    expect(arrays / MAX_PATTERN_CHARACTERS).toBeGreaterThan(21);
    expect(arrays / MAX_PATTERN_CHARACTERS).toBeLessThan(22.5);
    // Other parts of the process also allocate.
    expect(heap).toBeLessThan(2_000_000);
  });

  test('depends on the states, of which patterns with the same beginning need fewer', () => {
    const patterns = Array.from({ length: 400 }, (_, size) => `${'a'.repeat(100 + size / 2)}${size}`);
    expect(heldBytes(patterns, `x ${patterns[0]} y`, 'x *** y').arrays).toBeLessThan(200_000);
  });

  test('is not used before a text can contain a pattern', () => {
    const text = 'waiting for the first pod';
    expect(heldBytes(LONG, text, text).arrays).toBeLessThan(100_000);
  });
});
