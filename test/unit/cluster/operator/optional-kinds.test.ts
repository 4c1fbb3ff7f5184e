import { expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../../../src/cluster/kube/client/clock.ts';
import type { ChildKindName } from '../../../../src/cluster/operator/kinds.ts';
import { followOptionalKinds } from '../../../../src/cluster/operator/optional-kinds.ts';
import { untilPasses } from '../../until-passes.ts';
import { recordingLogger } from '../kube/support.ts';

const GATEWAY_API = 'gateway.networking.k8s.io/v1';
const HOUR_MS = 3_600_000;

/** Follows the optional kinds of a cluster until the test ends. A test changes the fields of `cluster`. */
function following(intervalMs: number) {
  const cluster = { serves: true, isFailing: false, responds: true, checks: 0 };
  const watched = new Set<ChildKindName>(['HTTPRoute']);
  const logger = recordingLogger();
  const stop = new AbortController();
  const done = followOptionalKinds(
    {
      client: {
        request: async (_method, path) => {
          if (path === '/apis') cluster.checks += 1;
          if (!cluster.responds) throw new Error('connection refused');
          const body =
            path === '/apis'
              ? { groups: cluster.serves ? [{ versions: [{ groupVersion: GATEWAY_API }] }] : [] }
              : { resources: [{ name: 'httproutes' }] };
          return { status: 200, body } as never;
        },
      },
      caches: {
        watches: (kind) => watched.has(kind),
        isFailing: (kind) => watched.has(kind) && cluster.isFailing,
        watch: async (kind) => void watched.add(kind),
        unwatch: async (kind) => void watched.delete(kind),
      },
      intervalMs,
      // A hundredth of every delay.
      clock: { ...systemClock, after: (ms, call) => systemClock.after(ms / 100, call) },
      logger,
    },
    stop.signal,
  );
  onTestFinished(async () => {
    stop.abort();
    await done;
  });
  return { cluster, watched, logger };
}

test('stops to watch a removed kind when its list fails, without awaiting the interval', async () => {
  const { cluster, watched } = following(HOUR_MS);
  cluster.serves = false;
  cluster.isFailing = true;
  await untilPasses(() => expect([...watched]).toEqual([]));
});

test('watches a kind that was installed after the interval', async () => {
  const { cluster, watched } = following(1);
  cluster.serves = false;
  await untilPasses(() => expect([...watched]).toEqual([]));
  cluster.serves = true;
  await untilPasses(() => expect([...watched]).toEqual(['HTTPRoute']));
});

test('continues to watch a kind whose list fails while the cluster serves the kind', async () => {
  const { cluster, watched } = following(HOUR_MS);
  cluster.isFailing = true;
  await untilPasses(() => expect(cluster.checks).toBeGreaterThan(2));
  expect([...watched]).toEqual(['HTTPRoute']);
});

test('logs one warning when several checks fail', async () => {
  const { cluster, logger } = following(1);
  cluster.responds = false;
  await untilPasses(() => expect(cluster.checks).toBeGreaterThan(3));
  expect(logger.lines.filter(({ level }) => level === 'warn')).toHaveLength(1);
});
