import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { repeat } from '../../../src/app/interval.ts';

const warn = vi.fn();
const logger = { debug: vi.fn(), info: vi.fn(), warn, error: vi.fn() };
beforeEach(() => {
  vi.useFakeTimers();
  warn.mockClear();
});
afterEach(() => void vi.useRealTimers());

test('runs the work after the first delay and then at the interval, and logs a failure', async () => {
  const work = vi.fn(async () => undefined).mockRejectedValueOnce(new Error('no'));
  const end = repeat({ what: 'keep house', everyMs: 1_000, firstMs: 70, logger }, work);
  await vi.advanceTimersByTimeAsync(69);
  expect(work).toHaveBeenCalledTimes(0);
  await vi.advanceTimersByTimeAsync(1);
  expect(work).toHaveBeenCalledTimes(1);
  expect(warn.mock.calls).toEqual([
    [{ err: 'Error: no' }, 'failed to keep house; next: none, it is retried'],
  ]);
  await vi.advanceTimersByTimeAsync(2_000);
  expect(work).toHaveBeenCalledTimes(3);
  end();
  await vi.advanceTimersByTimeAsync(5_000);
  expect(work).toHaveBeenCalledTimes(3);
});

test('waits one interval before the first run by default, and never runs when it ends earlier', async () => {
  const work = vi.fn(async () => undefined);
  const end = repeat({ what: 'look', everyMs: 1_000, logger }, work);
  await vi.advanceTimersByTimeAsync(999);
  end();
  await vi.advanceTimersByTimeAsync(5_000);
  expect(work).toHaveBeenCalledTimes(0);
});

test('never runs the work twice at the same time', async () => {
  const ends = Promise.withResolvers<void>();
  const work = vi.fn(() => ends.promise);
  const end = repeat({ what: 'look', everyMs: 10, logger }, work);
  await vi.advanceTimersByTimeAsync(100);
  expect(work).toHaveBeenCalledTimes(1);
  ends.resolve();
  await vi.advanceTimersByTimeAsync(10);
  expect(work).toHaveBeenCalledTimes(2);
  end();
});
