import type { FastifyRequest } from 'fastify';
import { describe, expect, test } from 'vitest';
import { TokenBuckets } from '../../../../../src/domain/scheduling/token-buckets.ts';
import { ApiError } from '../../../../../src/hub/api/core/errors.ts';
import { createLimiter, networkOf } from '../../../../../src/hub/api/core/rate-limit.ts';

describe('token buckets', () => {
  const taken = (buckets: TokenBuckets, key: string, times: number, now: number) =>
    Array.from({ length: times }, () => buckets.take(key, now)).filter((wait) => wait === 0).length;

  test('allow a burst at once, and then as many calls as the rate restores', () => {
    const buckets = new TokenBuckets({ perSecond: 2, burst: 5 });
    expect(taken(buckets, 'a', 10, 0)).toBe(5);
    expect(taken(buckets, 'a', 10, 1_000)).toBe(2);
    expect(taken(buckets, 'a', 10, 1_400)).toBe(0);
    expect(taken(buckets, 'a', 10, 1_500)).toBe(1);
    expect(taken(buckets, 'a', 10, 1_000_000)).toBe(5);
  });

  test('return the seconds until the next call is allowed, which is then accepted', () => {
    const buckets = new TokenBuckets({ perSecond: 0.5, burst: 1 });
    expect(buckets.take('a', 0)).toBe(0);
    expect(buckets.take('a', 0)).toBe(2);
    expect(buckets.take('a', 500)).toBe(1.5);
    expect(buckets.take('a', 2_000)).toBe(0);
  });

  test('are separate for each key', () => {
    const buckets = new TokenBuckets({ perSecond: 1, burst: 1 });
    expect([buckets.take('a', 0), buckets.take('b', 0)]).toEqual([0, 0]);
    expect(buckets.take('a', 0)).toBeGreaterThan(0);
  });

  test('restore nothing when the clock goes backwards', () => {
    const buckets = new TokenBuckets({ perSecond: 1, burst: 1 });
    buckets.take('a', 5_000);
    expect(buckets.take('a', 1_000)).toBe(1);
    expect(buckets.take('a', 5_999)).toBeGreaterThan(0);
    expect(buckets.take('a', 6_000)).toBe(0);
  });

  test('keep a bounded number of a million keys, including the key in use', () => {
    const buckets = new TokenBuckets({ perSecond: 1, burst: 1 }, 100);
    buckets.take('busy', 0);
    for (let index = 0; index < 1_000_000; index += 1) {
      buckets.take(`stranger ${index}`, 0);
      if (index % 50 === 0) expect(buckets.take('busy', 0)).toBeGreaterThan(0);
    }
    expect(buckets.size).toBe(100);
  });
});

describe('networkOf', () => {
  test.each([
    ['192.0.2.7', '192.0.2.7'],
    ['::ffff:192.0.2.7', '192.0.2.7'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:0DB8:0001:0002::9', '2001:db8:1:2::/64'],
    ['2001:db8::1', '2001:db8:0:0::/64'],
    ['::1', '0:0:0:0::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
    ['1:2::3:4:5:6:7', '1:2:0:3::/64'],
    ['unknown', 'unknown'],
    ['x'.repeat(9_000), 'unknown'],
    ['', 'unknown'],
  ])('maps %s to %s', (address, network) => {
    expect(networkOf(address)).toBe(network);
  });

  test('maps an address to a larger network', () => {
    expect(networkOf('2001:db8:1:2:3:4:5:6', 48)).toBe('2001:db8:1::/48');
    expect(networkOf('192.0.2.7', 48)).toBe('192.0.2.7');
  });
});

describe('the limiter', () => {
  const rate = { perSecond: 1, burst: 2 };
  const refusal = (work: () => void): number | null => {
    try {
      work();
      return null;
    } catch (error) {
      if (error instanceof ApiError && error.statusCode === 429) return error.retryAfterSeconds;
      throw error;
    }
  };

  test('returns the time that a key has to wait in whole seconds', () => {
    let now = 0;
    const limiter = createLimiter({ perKey: rate, failures: null }, () => now);
    const call = () => refusal(() => limiter.call('key', false));
    expect([call(), call(), call()]).toEqual([null, null, 1]);
    now = 1_000;
    expect(call()).toBeNull();
  });

  test('counts calls of listeners separately, and allows ten times as many', () => {
    const limiter = createLimiter({ perKey: rate, failures: null }, () => 0);
    const calls = (byListener: boolean) =>
      Array.from({ length: 30 }, () => refusal(() => limiter.call('key', byListener))).filter(
        (answer) => answer === null,
      ).length;
    expect([calls(false), calls(true)]).toEqual([2, 20]);
  });

  test('counts the logins that the networks of one customer start together', () => {
    const limiter = createLimiter({ perKey: null, failures: rate }, () => 0);
    const start = (network: number, customer = 1) =>
      refusal(() => limiter.deviceLogin({ ip: `2001:db8:${customer}:${network}::1` } as FastifyRequest));
    const answers = Array.from({ length: 12 }, (_, network) => start(network));
    expect(answers.filter((answer) => answer === null)).toHaveLength(10);
    expect(start(0, 2)).toBeNull();
  });

  test('limits the polls of each login of a device separately', () => {
    let now = 0;
    const limiter = createLimiter({ perKey: null, failures: rate }, () => now);
    const polls = (code: string) =>
      Array.from({ length: 20 }, () => limiter.isPolledTooOften(code)).filter((isTooOften) => !isTooOften)
        .length;
    expect([polls('a'), polls('b')]).toEqual([10, 10]);
    // A device that keeps its interval is never limited.
    now = 5_000;
    expect(limiter.isPolledTooOften('a')).toBe(false);
  });

  test('never rejects the listener of the same process, or any call when there is no limit', () => {
    const limited = createLimiter({ perKey: rate, failures: rate }, () => 0);
    const unlimited = createLimiter(null);
    for (let index = 0; index < 100; index += 1) {
      limited.call(null, true);
      unlimited.call('key', false);
    }
  });
});

test('limits the reads of logs and objects of each tenant separately', () => {
  const limiter = createLimiter(
    { perKey: null, failures: null, clusterReads: { perSecond: 1, burst: 1 } },
    () => 0,
  );
  limiter.clusterRead('a');
  expect(() => limiter.clusterRead('a')).toThrow(ApiError);
  expect(() => limiter.clusterRead('b')).not.toThrow();
});

test('counts the pulls of a deployment separately from its pushes', () => {
  const rate = { perSecond: 1, burst: 1 };
  const limiter = createLimiter({ perKey: rate, failures: null }, () => 0);
  limiter.registryCall('deployment', 'push');
  expect(() => limiter.registryCall('deployment', 'push')).toThrow(ApiError);
  expect(() => limiter.registryCall('deployment', 'pull')).not.toThrow();
});
