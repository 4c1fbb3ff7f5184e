/** Requests that repeat while much changes: each ends, and the last one is newer than the last change. */
import { QueryClient, QueryObserver } from '@tanstack/react-query';
import { expect, test } from 'vitest';
import { refreshAfterPresent } from '../../../src/console/fleet/changed-meanwhile.ts';
import { NewestRequests } from '../../../src/console/fleet/newest-requests.ts';

import { requestAgain } from '../../../src/console/live/request-again.ts';

const settled = () => new Promise((resolve) => setTimeout(resolve));

test('changes during a request cause one more request, and do not cancel the first one', async () => {
  const client = new QueryClient();
  const answers: (() => void)[] = [];
  let aborted = 0;
  const observer = new QueryObserver(client, {
    queryKey: ['objects'],
    queryFn: ({ signal }) => {
      signal.addEventListener('abort', () => {
        aborted += 1;
      });
      return new Promise<number>((resolve) => answers.push(() => resolve(answers.length)));
    },
  });
  const stop = observer.subscribe(() => undefined);
  const changed = () => requestAgain(client, () => true);
  answers[0]?.();
  await settled();
  changed();
  await settled();
  for (let change = 0; change < 5; change += 1) changed();
  expect(answers).toHaveLength(2);
  answers[1]?.();
  await settled();
  expect([answers.length, aborted]).toEqual([3, 0]);
  answers[2]?.();
  await settled();
  expect(answers).toHaveLength(3);
  stop();
});

test('a change during a request that fails causes one more request', async () => {
  const client = new QueryClient({ defaultOptions: { queries: { retry: false } } });
  const failures: (() => void)[] = [];
  const observer = new QueryObserver(client, {
    queryKey: ['objects'],
    queryFn: () =>
      new Promise<number>((_, reject) => failures.push(() => reject(new Error('the server stopped')))),
  });
  const stop = observer.subscribe(() => undefined);
  requestAgain(client, () => true);
  failures[0]?.();
  await settled();
  expect(failures).toHaveLength(2);
  failures[1]?.();
  await settled();
  expect(failures).toHaveLength(2);
  stop();
});

test('changes while a list loads request their rows once, and not the whole list again', async () => {
  const client = new QueryClient();
  const answers: (() => void)[] = [];
  const observer = new QueryObserver(client, {
    queryKey: ['deployments'],
    queryFn: () => new Promise<number>((resolve) => answers.push(() => resolve(answers.length))),
  });
  const stop = observer.subscribe(() => undefined);
  const query = client.getQueryCache().find({ queryKey: ['deployments'] });
  if (query === undefined) throw new Error('the list is not requested');
  const requested: string[][] = [];
  for (const ids of [['d1'], ['d2', 'd1']])
    refreshAfterPresent(query, ids, (changed) => requested.push(changed));
  await settled();
  expect(requested).toEqual([]);
  answers[0]?.();
  await settled();
  expect(requested).toEqual([['d1', 'd2']]);
  expect(answers).toHaveLength(1);
  stop();
});

test('a request has the rows that no later request for the same list has asked for', () => {
  const requests = new NewestRequests();
  const first = requests.begin('list', ['d1', 'd2']);
  const second = requests.begin('list', ['d2', 'd3']);
  const other = requests.begin('other list', ['d1']);
  expect([first(), second(), other()].map((ids) => [...ids])).toEqual([['d1'], ['d2', 'd3'], ['d1']]);
});
