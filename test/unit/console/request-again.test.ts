/** Requests that repeat while much changes: each ends, and the last one is newer than the last change. */
import { QueryClient, QueryObserver } from '@tanstack/react-query';
import { expect, test } from 'vitest';
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
  const client = new QueryClient();
  const requests: (() => void)[] = [];
  const observer = new QueryObserver(client, {
    queryKey: ['objects'],
    queryFn: () => new Promise<number>((_, reject) => requests.push(() => reject(new Error('failed')))),
    retry: false,
  });
  const stop = observer.subscribe(() => undefined);
  for (let change = 0; change < 3; change += 1) requestAgain(client, () => true);
  for (const expected of [2, 2]) {
    requests.at(-1)?.();
    await settled();
    expect(requests).toHaveLength(expected);
  }
  stop();
});

test('a request has the rows that no later request for the same list has asked for', () => {
  const requests = new NewestRequests();
  const first = requests.begin('list', ['d1', 'd2']);
  const second = requests.begin('list', ['d2', 'd3']);
  const other = requests.begin('other list', ['d1']);
  expect([first(), second(), other()].map((ids) => [...ids])).toEqual([['d1'], ['d2', 'd3'], ['d1']]);
});
