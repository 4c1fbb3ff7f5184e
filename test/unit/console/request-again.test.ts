/** Requests that repeat while much changes: each ends, and the last one is newer than the last change. */
import { QueryClient, QueryObserver } from '@tanstack/react-query';
import { expect, test, vi } from 'vitest';
import type { TenantApi } from '../../../src/console/api/client.ts';
import { requestAgain } from '../../../src/console/live/request-again.ts';

// The client of the API reads the address of the page when it is loaded.
vi.stubGlobal('document', { baseURI: 'http://localhost/console/' });
const { fleetQuery, refreshRows } = await import('../../../src/console/fleet/queries.ts');

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

test('an answer for a row that arrives after the answer of a later request is not used', async () => {
  const client = new QueryClient();
  const answers: ((status: string) => void)[] = [];
  const api = {
    tenantId: 't1',
    GET: () =>
      new Promise((resolve) =>
        answers.push((status) =>
          resolve({ data: { resources: [{ id: 'd1', status }] }, response: new Response() }),
        ),
      ),
  } as unknown as TenantApi;
  const { queryKey } = fleetQuery(api, {});
  client.setQueryData(queryKey, {
    pages: [{ rows: [{ id: 'd1', status: 'DEPLOYING' }], isLast: true }],
    pageParams: [0],
  } as never);
  const refresh = () => refreshRows(client, api, { filters: {}, changed: ['d1'] });
  const both = [refresh(), refresh()];
  answers[1]?.('READY');
  await both[1];
  answers[0]?.('DEPLOYING');
  await both[0];
  expect(client.getQueryData(queryKey)?.pages[0]?.rows[0]).toMatchObject({ status: 'READY' });
});
