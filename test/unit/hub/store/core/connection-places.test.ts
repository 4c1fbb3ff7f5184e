import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { NO_GROUP } from '../../../../../src/domain/scheduling/turns.ts';
import { ConnectionPlaces } from '../../../../../src/hub/store/core/connection-places.ts';
import { StoreUnavailable } from '../../../../../src/hub/store/core/errors.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** Records which tenant got a place. */
function setUp(poolSize: number) {
  const places = new ConnectionPlaces({ poolSize, waitMs: 5_000 });
  const given: string[] = [];
  const refused: unknown[] = [];
  const enter = (tenant: string, times = 1) => {
    for (let n = 0; n < times; n += 1)
      Promise.resolve(places.enter(tenant)).then(
        () => given.push(tenant),
        (error: unknown) => refused.push(error),
      );
  };
  const countOf = (tenant: string) => given.filter((each) => each === tenant).length;
  return { places, given, refused, enter, countOf };
}

test('gives one tenant at most eight of ten places, and keeps two for other tenants and the platform', async () => {
  const { enter, countOf } = setUp(10);
  enter('crowd', 100);
  enter('other');
  enter(NO_GROUP);
  await vi.advanceTimersByTimeAsync(0);
  expect([countOf('crowd'), countOf('other'), countOf(NO_GROUP)]).toEqual([8, 1, 1]);
});

test('gives a busy tenant one connection while another is active, and more when each is slow', async () => {
  const { places, enter, countOf } = setUp(10);
  enter('other');
  enter('crowd', 100);
  await vi.advanceTimersByTimeAsync(250);
  expect(countOf('crowd')).toBe(8);
  for (let n = 0; n < 7; n += 1) places.leave('crowd');
  await vi.advanceTimersByTimeAsync(0);
  // One at the first leave, for none was taken for long.
  expect(countOf('crowd')).toBe(9);
  // Two are under way. While one of them is, there is no room; then there is, for one.
  places.leave('crowd');
  await vi.advanceTimersByTimeAsync(0);
  expect(countOf('crowd')).toBe(9);
  places.leave('crowd');
  await vi.advanceTimersByTimeAsync(0);
  expect(countOf('crowd')).toBe(10);
  await vi.advanceTimersByTimeAsync(9);
  expect(countOf('crowd')).toBe(10);
  await vi.advanceTimersByTimeAsync(1);
  expect(countOf('crowd')).toBe(11);
  await vi.advanceTimersByTimeAsync(1_000);
  expect(countOf('crowd'), 'eight are under way').toBe(17);
});

test('rejects a caller that waits too long, which takes no connection later', async () => {
  const { places, refused, enter, countOf } = setUp(1);
  enter('a');
  enter('b');
  await vi.advanceTimersByTimeAsync(5_000);
  expect(refused).toEqual([expect.any(StoreUnavailable)]);
  places.leave('a');
  await vi.advanceTimersByTimeAsync(5_000);
  expect({ of: countOf('b'), waiting: places.waiting }).toEqual({ of: 0, waiting: 0 });
});
