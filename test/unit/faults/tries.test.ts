/** Which tries count as made with eyes shut. */
import { expect, test } from 'vitest';
import { blindTries } from '../../faults/plans/tries.ts';
import type { KubernetesExchange } from '../../faults/proxies/kubernetes-traffic.ts';

const PATH = '/apis/apps/v1/namespaces/shop/deployments/shop-api';

const exchange = (seq: number, at: number, more: Partial<KubernetesExchange> = {}): KubernetesExchange => ({
  seq,
  client: 'operator',
  method: 'PATCH',
  path: PATH,
  at,
  body: undefined,
  verb: 'apply',
  resource: 'deployments',
  subresource: '',
  namespace: 'shop',
  name: 'shop-api',
  dryRun: false,
  status: 409,
  upstreamStatus: 0,
  endedAt: at + 2,
  ...more,
});

/** Refused three times and then taken, each after so many milliseconds. */
const tried = (pauseMs: number) => [
  ...[0, 1, 2].map((index) => exchange(index + 1, index * (pauseMs + 2))),
  exchange(4, 3 * (pauseMs + 2), { status: 200, upstreamStatus: 200 }),
];
const look = (at: number) => exchange(9, at, { verb: 'get', method: 'GET', upstreamStatus: 200 });
const knowing = (told: number[] = [], asked: KubernetesExchange[] = []) => ({ told, asked: () => asked });

test('tries one right after another are told', () => {
  expect(blindTries(tried(3), knowing())).toEqual([
    'tried again after 3 ms, 3 ms, 3 ms, and nothing was looked at between',
  ]);
});

test('a pause, a look at the object and news by a watch each speak for it', () => {
  expect(blindTries(tried(200), knowing())).toEqual([]);
  expect(blindTries(tried(3), knowing([], [look(3)]))).toEqual([]);
  expect(blindTries(tried(3), knowing([4]))).toEqual([]);
});

test('a look at another object, and news of before, do not', () => {
  const other = { ...look(3), name: 'other-api' };
  expect(blindTries(tried(3), knowing([-5], [other]))).toHaveLength(1);
});

test('fewer pauses than three may be short by chance', () => {
  expect(blindTries(tried(3).slice(1), knowing())).toEqual([]);
});
