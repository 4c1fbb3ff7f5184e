/** Which tries count as made with eyes shut. */
import { expect, test } from 'vitest';
import { blindTries, hastyTries, refusedFigure } from '../../faults/plans/tries.ts';
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

test('news that came after a look had begun speak for the try of the next one', () => {
  const began = (at: number) => ({ ...look(at), resource: 'manageddeployments', name: 'shop' });
  const tries = [
    exchange(1, 0),
    exchange(2, 500),
    exchange(3, 600),
    exchange(4, 605, { status: 200, upstreamStatus: 200 }),
  ];
  const looks = [began(450), began(590)];
  // One before and one after the second look began: each has had its own look.
  expect(blindTries(tries, knowing([440, 490], looks))).toHaveLength(1);
  expect(blindTries(tries, knowing([300, 490, 595], looks))).toEqual([]);
  // What the second look knew already does not speak for the third.
  expect(blindTries(tries, knowing([200, 300], looks))).toHaveLength(2);
});

test('a look at another object, and news of long before it was decided, do not', () => {
  const other = { ...look(3), name: 'other-api' };
  expect(blindTries(tried(3), knowing([-1_500], [other]))).toHaveLength(3);
});

/** Refused at these times. */
const refusedAt = (...times: number[]) => times.map((at, index) => exchange(index + 1, at, { status: 422 }));

test('what is refused as invalid may be tried three times in 15 s, and not at once', () => {
  expect(hastyTries([])).toEqual([]);
  expect(hastyTries(refusedAt(0, 2_500, 7_500, 17_500))).toEqual([]);
  const line = (found: string) => `"apply deployments" was refused as invalid, and tried ${found}`;
  expect(hastyTries(refusedAt(0, 2_500, 7_500, 14_500))).toEqual([line('4 times within 15000 ms')]);
  expect(hastyTries(refusedAt(0, 500, 2_500))).toEqual([line('again after 498 ms')]);
  expect(hastyTries(refusedAt(0, 1_000, 3_000, 7_000))).toEqual([
    line('4 times within 15000 ms'),
    line('again after 998 ms'),
  ]);
});

test('tries of other objects, and one that was taken, are none of the same', () => {
  const other = exchange(9, 100, { status: 422, name: 'shop-worker' });
  const taken = exchange(10, 200, { status: 200, upstreamStatus: 200 });
  expect(hastyTries([...refusedAt(0), other, taken])).toEqual([]);
  expect(refusedFigure([...refusedAt(0, 2_500), other])).toBe(
    'refused as invalid, of each object after s: 0.0, 2.5; 0.0',
  );
});
