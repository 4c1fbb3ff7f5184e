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
  const line = 'tried again after 3 ms, and nothing was looked at between';
  expect(blindTries(tried(3), knowing())).toEqual([line, line, line]);
});

test('a pause, a look at the object and news by a watch each speak for it', () => {
  expect(blindTries(tried(200), knowing())).toEqual([]);
  const looks = [look(3), look(8), look(13)];
  expect(blindTries(tried(3), knowing([], looks))).toEqual([]);
  expect(blindTries(tried(3), knowing([4, 9, 14]))).toEqual([]);
});

test('what speaks for one try does not for the others', () => {
  expect(blindTries(tried(3), knowing([], [look(3)]))).toHaveLength(2);
  expect(blindTries(tried(3), knowing([4]))).toHaveLength(2);
  const [first, second, ...rest] = tried(3);
  const late = rest.map((later) => ({ ...later, at: later.at + 300, endedAt: later.endedAt + 300 }));
  expect(blindTries([first, second, ...late] as KubernetesExchange[], knowing())).toHaveLength(2);
});

test('news that came while it was on its way to the call speaks for one try', () => {
  expect(blindTries(tried(3), knowing([-200]))).toHaveLength(2);
});

test('a look at another object, and news of long before it was decided, do not', () => {
  const other = { ...look(3), name: 'other-api' };
  expect(blindTries(tried(3), knowing([-1_500], [other]))).toHaveLength(3);
});
