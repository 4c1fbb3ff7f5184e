/** Rows of changed deployments: a list that loads is not loaded again because of them. */
import { type InfiniteData, InfiniteQueryObserver, QueryClient } from '@tanstack/react-query';
import { expect, test } from 'vitest';
import type { Deployment } from '../../../src/console/api/types.ts';
import { type FleetPage, nextOffset, rowsOf } from '../../../src/console/fleet/pages.ts';
import { groupsOf, refresh } from '../../../src/console/fleet/refresh-rows.ts';

const KEY = ['fleet'];
const settled = () => new Promise((resolve) => setTimeout(resolve));
const row = (id: string, status = 'READY') =>
  ({ id, status, created_at: '2026-01-15T09:30:00.000Z' }) as unknown as Deployment;
const ids = (count: number) => Array.from({ length: count }, (_, index) => `d${index}`);

/** A list whose requests wait for `answer`, and the rows that were requested. */
function openList() {
  const client = new QueryClient();
  const pages: { answer: (page: FleetPage) => void; fail: () => void }[] = [];
  const observer = new InfiniteQueryObserver(client, {
    queryKey: KEY,
    queryFn: () =>
      new Promise<FleetPage>((resolve, reject) =>
        pages.push({ answer: resolve, fail: () => reject(new Error('failed')) }),
      ),
    initialPageParam: 0,
    getNextPageParam: (_last: FleetPage, all: FleetPage[]) => nextOffset(all),
    retry: false,
  });
  const stop = observer.subscribe(() => undefined);
  const requested: string[][] = [];
  const changed = (...names: string[]) =>
    refresh(client, KEY, names, async (group) => {
      requested.push([...group]);
      return group.map((id) => row(id, 'UNKNOWN'));
    });
  const shown = () =>
    rowsOf(client.getQueryData<InfiniteData<FleetPage>>(KEY)?.pages ?? []).map(
      ({ id, status }) => `${id} ${status}`,
    );
  return { observer, pages, requested, changed, shown, stop };
}

test('changes while a list loads request their rows once after it, and never the list again', async () => {
  const list = openList();
  for (const name of ['a', 'b', 'a', 'b']) void list.changed(name);
  await settled();
  expect([list.pages.length, list.requested]).toEqual([1, []]);
  list.pages[0]?.answer({ rows: [row('a'), row('b'), row('c')], isLast: true });
  await settled();
  expect([list.pages.length, list.requested]).toEqual([1, [['a', 'b']]]);
  expect(list.shown().toSorted()).toEqual(['a UNKNOWN', 'b UNKNOWN', 'c READY']);
  list.stop();
});

test('rows that arrive while the next page loads are not lost', async () => {
  const list = openList();
  list.pages[0]?.answer({ rows: [row('b')], isLast: false });
  await settled();
  void list.changed('b');
  void list.observer.fetchNextPage();
  await settled();
  list.pages[1]?.answer({ rows: [row('a')], isLast: true });
  await settled();
  expect(list.shown()).toEqual(['b UNKNOWN', 'a READY']);
  expect(list.pages).toHaveLength(2);
  list.stop();
});

test('the list is requested again when it failed', async () => {
  const list = openList();
  void list.changed('a');
  list.pages[0]?.fail();
  await settled();
  await settled();
  expect([list.pages.length, list.requested]).toEqual([2, []]);
  list.stop();
});

test('many changed rows are requested in groups, or by the pages if those are fewer', () => {
  expect(groupsOf(ids(250), 50)?.map(({ length }) => length)).toEqual([100, 100, 50]);
  expect(groupsOf(ids(250), 2)).toBeNull();
  expect(groupsOf(ids(5), 0)).toHaveLength(1);
});
