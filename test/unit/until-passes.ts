import { vi } from 'vitest';

/** Only a test that fails takes this long. Vitest's default of a second is too short on a busy machine. */
const TIMEOUT_MS = 20_000;

/** Repeats a check until it passes. Rejects with the last error of the check after the timeout. */
export const untilPasses = <T>(
  check: () => T | Promise<T>,
  options: { interval?: number } = {},
): Promise<T> => vi.waitFor(check, { timeout: TIMEOUT_MS, ...options });
