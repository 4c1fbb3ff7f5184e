/** Which attempts count as blind, and which as too frequent. */
import { expect, test } from 'vitest';
import { blindRetries, frequentRetries } from '../../faults/plans/retries.ts';
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

test('reports attempts that follow each other immediately', () => {
  const line = 'tried again after 3 ms, and nothing was looked at between';
  expect(blindRetries(tried(3), knowing())).toEqual([line, line, line]);
});

test('accepts an attempt after a pause, a read of the object or an event', () => {
  expect(blindRetries(tried(200), knowing())).toEqual([]);
  const looks = [look(3), look(8), look(13)];
  expect(blindRetries(tried(3), knowing([], looks))).toEqual([]);
  expect(blindRetries(tried(3), knowing([4, 9, 14]))).toEqual([]);
});

test('counts each read and each event for one attempt only', () => {
  expect(blindRetries(tried(3), knowing([], [look(3)]))).toHaveLength(2);
  expect(blindRetries(tried(3), knowing([4]))).toHaveLength(2);
  const [first, second, ...rest] = tried(3);
  const late = rest.map((later) => ({ ...later, at: later.at + 300, endedAt: later.endedAt + 300 }));
  expect(blindRetries([first, second, ...late] as KubernetesExchange[], knowing())).toHaveLength(2);
});

test('ignores reads of other objects and events from before the decision', () => {
  const other = { ...look(3), name: 'other-api' };
  expect(blindRetries(tried(3), knowing([-1_500], [other]))).toHaveLength(3);
});

/** Refused at these times. */
const refusedAt = (...times: number[]) => times.map((at, index) => exchange(index + 1, at, { status: 422 }));

test('accepts three attempts in 15 s of a call that was rejected as invalid', () => {
  expect(frequentRetries([])).toEqual([]);
  expect(frequentRetries(refusedAt(0, 2_500, 7_500, 17_500))).toEqual([]);
  const line = (found: string) => `"apply deployments" was refused as invalid, and tried ${found}`;
  expect(frequentRetries(refusedAt(0, 2_500, 7_500, 14_500))).toEqual([line('4 times within 15000 ms')]);
  expect(frequentRetries(refusedAt(0, 500, 2_500))).toEqual([line('again after 498 ms')]);
  expect(frequentRetries(refusedAt(0, 1_000, 3_000, 7_000))).toEqual([
    line('4 times within 15000 ms'),
    line('again after 998 ms'),
  ]);
});
