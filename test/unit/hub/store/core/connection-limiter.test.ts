import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { NO_TENANT } from '../../../../../src/domain/scheduling/fair-limiter.ts';
import { ConnectionLimiter } from '../../../../../src/hub/store/core/connection-limiter.ts';
import { StoreUnavailable } from '../../../../../src/hub/store/core/errors.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** Records which tenant got a connection. */
function setUp(poolSize: number) {
  const connections = new ConnectionLimiter({ poolSize, waitMs: 5_000 });
  const given: string[] = [];
  const refused: unknown[] = [];
  const ends: (() => void)[] = [];
  const enter = (tenant: string, times = 1) => {
    for (let n = 0; n < times; n += 1)
      connections
        .run(tenant, () => {
          given.push(tenant);
          return new Promise<void>((resolve) => ends.push(resolve));
        })
        .catch((error: unknown) => refused.push(error));
  };
  const countOf = (tenant: string) => given.filter((each) => each === tenant).length;
  return { connections, given, refused, ends, enter, countOf };
}

test('keeps connections for other tenants and the platform when one tenant has a hundred requests', async () => {
  const { enter, countOf } = setUp(10);
  enter('crowd', 100);
  enter('other');
  enter(NO_TENANT);
  await vi.advanceTimersByTimeAsync(0);
  expect([countOf('crowd'), countOf('other'), countOf(NO_TENANT)]).toEqual([8, 1, 1]);
});

test('rejects a caller that waits too long, which takes no connection later', async () => {
  const { connections, refused, ends, enter, countOf } = setUp(1);
  enter('a');
  enter('b');
  await vi.advanceTimersByTimeAsync(5_000);
  expect(refused).toEqual([expect.any(StoreUnavailable)]);
  for (const end of ends) end();
  await vi.advanceTimersByTimeAsync(5_000);
  expect({ of: countOf('b'), waiting: connections.waiting }).toEqual({ of: 0, waiting: 0 });
});

test('does not count the time after the start as a wait', async () => {
  const { refused, enter, countOf } = setUp(1);
  enter('a');
  await vi.advanceTimersByTimeAsync(60_000);
  expect({ refused, of: countOf('a') }).toEqual({ refused: [], of: 1 });
});
