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

/** Three rejected attempts and a successful one, with this pause in milliseconds between them. */
const tried = (pauseMs: number) => [
  ...[0, 1, 2].map((index) => exchange(index + 1, index * (pauseMs + 2))),
  exchange(4, 3 * (pauseMs + 2), { status: 200, upstreamStatus: 200 }),
];
const read = (at: number) => exchange(9, at, { verb: 'get', method: 'GET', upstreamStatus: 200 });
const knowing = (eventTimes: number[] = [], reads: KubernetesExchange[] = []) => ({
  eventTimes,
  reads: () => reads,
});

test('reports attempts that follow each other immediately', () => {
  const line = 'tried again after 3 ms, without a read or an event since';
  expect(blindRetries(tried(3), knowing())).toEqual([line, line, line]);
});

test('accepts an attempt after a pause, a read of the object or an event', () => {
  expect(blindRetries(tried(200), knowing())).toEqual([]);
  const reads = [read(3), read(8), read(13)];
  expect(blindRetries(tried(3), knowing([], reads))).toEqual([]);
  expect(blindRetries(tried(3), knowing([4, 9, 14]))).toEqual([]);
});

test('counts each read and each event for one attempt only', () => {
  expect(blindRetries(tried(3), knowing([], [read(3)]))).toHaveLength(2);
  expect(blindRetries(tried(3), knowing([4]))).toHaveLength(2);
  const [first, second, ...rest] = tried(3);
  const late = rest.map((later) => ({ ...later, at: later.at + 300, endedAt: later.endedAt + 300 }));
  expect(blindRetries([first, second, ...late] as KubernetesExchange[], knowing())).toHaveLength(2);
});

test('ignores reads of other objects and events from before the decision', () => {
  const other = { ...read(3), name: 'other-api' };
  expect(blindRetries(tried(3), knowing([-1_500], [other]))).toHaveLength(3);
});

/** Attempts that were rejected at these times. */
const rejectedAt = (...times: number[]) => times.map((at, index) => exchange(index + 1, at, { status: 422 }));

test('accepts three attempts in 15 s of a call that was rejected as invalid', () => {
  expect(frequentRetries([])).toEqual([]);
  expect(frequentRetries(rejectedAt(0, 2_500, 7_500, 17_500))).toEqual([]);
  const line = (found: string) => `"apply deployments" was rejected as invalid, and tried ${found}`;
  expect(frequentRetries(rejectedAt(0, 2_500, 7_500, 14_500))).toEqual([line('4 times within 15000 ms')]);
  expect(frequentRetries(rejectedAt(0, 500, 2_500))).toEqual([line('again after 498 ms')]);
  expect(frequentRetries(rejectedAt(0, 1_000, 3_000, 7_000))).toEqual([
    line('4 times within 15000 ms'),
    line('again after 998 ms'),
  ]);
});
