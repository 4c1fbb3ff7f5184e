import { expect, onTestFinished, test, vi } from 'vitest';
import { monotonicClock } from '../../../../src/domain/core/monotonic-clock.ts';

test('does not call at once when the delay is longer than a timer supports', () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const day = 86_400_000;
  const called = vi.fn();
  monotonicClock.after(30 * day, called);
  vi.advanceTimersByTime(24 * day);
  expect(called).not.toHaveBeenCalled();
  vi.advanceTimersByTime(6 * day);
  expect(called).toHaveBeenCalledOnce();
});
