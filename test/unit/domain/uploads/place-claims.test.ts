import { describe, expect, test } from 'vitest';
import { type RunningUpload, uploadToEnd } from '../../../../src/domain/uploads/place-claims.ts';

const MINUTE = 60_000;
const MIB = 2 ** 20;

/** Two uploads of each tenant: one at 75 KiB/s, one at twice this rate. */
const pairs = (ageMs: number, ...tenants: string[]): RunningUpload[] =>
  tenants.flatMap((tenantId) =>
    [75, 150].map((rate) => ({ tenantId, ageMs, bytes: rate * 1024 * (ageMs / 1000) })),
  );

describe('an upload gives its place to a tenant that waits', () => {
  test('when four tenants hold all eight places with slow uploads', () => {
    const running = pairs(2 * MINUTE, 'a', 'b', 'c', 'd');
    expect(uploadToEnd(running, 0)).toBe(running[0]);
  });

  test('when it is the slowest of the tenants with the most places, whatever the rate of others is', () => {
    const slow = { tenantId: 'one', ageMs: 2 * MINUTE, bytes: 1 };
    const [first, second, third, fourth] = [3 * MIB, 2 * MIB, 5 * MIB, 9 * MIB].map((bytes, index) => ({
      tenantId: index < 2 ? 'a' : 'b',
      ageMs: 2 * MINUTE,
      bytes,
    })) as [RunningUpload, RunningUpload, RunningUpload, RunningUpload];
    expect(uploadToEnd([slow, first, second, third, fourth], 0)).toBe(second);
  });

  test('when each tenant has one place, and the waiting tenant has none', () => {
    const running = ['a', 'b', 'c'].map((tenantId, index) => ({
      tenantId,
      ageMs: 2 * MINUTE,
      bytes: 3 - index,
    }));
    expect(uploadToEnd(running, 0)).toBe(running[2]);
  });
});

describe('no upload gives its place', () => {
  test('in its first minute, in which 64 MiB arrive at 1.1 MiB/s', () => {
    expect(uploadToEnd(pairs(MINUTE, 'a', 'b', 'c', 'd'), 0)).toBeUndefined();
    expect(uploadToEnd(pairs(MINUTE + 1, 'a', 'b', 'c', 'd'), 0)).toBeDefined();
  });

  test('of a tenant with one place while others have two, although theirs are in their first minute', () => {
    const old = { tenantId: 'old', ageMs: 5 * MINUTE, bytes: 1 };
    expect(uploadToEnd([old, ...pairs(1_000, 'a', 'b', 'c')], 0)).toBeUndefined();
  });

  test('when the waiting tenant has as many places, or gets them already', () => {
    const running = pairs(2 * MINUTE, 'a', 'b', 'c', 'd');
    expect(uploadToEnd(running, 1)).toBeDefined();
    expect(uploadToEnd(running, 2)).toBeUndefined();
    expect(uploadToEnd([], 0)).toBeUndefined();
  });

  test('to a tenant that has a share of the places, so repeated claims end', () => {
    let running = pairs(2 * MINUTE, 'a', 'b', 'c', 'd');
    let claimed = 0;
    for (; claimed < 10; claimed++) {
      const ended = uploadToEnd(running, claimed);
      if (ended === undefined) break;
      running = running.filter((upload) => upload !== ended);
    }
    expect(claimed).toBe(2);
  });
});
