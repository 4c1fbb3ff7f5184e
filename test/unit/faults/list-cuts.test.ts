import { describe, expect, test } from 'vitest';
import { afterCuts } from '../../faults/plans/list-cuts.ts';
import { describeKubernetesRequest } from '../../faults/proxies/kubernetes-request.ts';
import type { KubernetesExchange } from '../../faults/proxies/kubernetes-traffic.ts';

const RESOURCES = '/apis/berth.dev/v1alpha1/manageddeployments';
const WATCHED = [`listener ${RESOURCES}`];
const STREAM = `${RESOURCES}?watch=true&sendInitialEvents=true`;
const APPLY = '/apis/berth.dev/v1alpha1/namespaces/team/manageddeployments/shop?fieldManager=a';
const PURGED = '/api/v1/namespaces/team/persistentvolumeclaims?labelSelector=a';

function exchange(
  method: string,
  path: string,
  at: number,
  endedAt: number,
  status = 200,
): KubernetesExchange {
  const request = { seq: at, client: 'listener', method, path, at, body: undefined };
  const type = method === 'PATCH' ? 'application/apply-patch+yaml' : '';
  return { ...describeKubernetesRequest(request, type), status, upstreamStatus: status, endedAt };
}

const cutStream = exchange('GET', STREAM, 10, 20);
const pages = exchange('GET', RESOURCES, 30, 40);
const write = exchange('PATCH', APPLY, 50, 60);

const judge = (requests: readonly KubernetesExchange[]) =>
  afterCuts({ requests, watched: WATCHED, cut: new Set(WATCHED), hasBegun: false }).map(
    ({ message }) => message,
  );

test('holds when the first write follows the first complete list, and later lists do not count', () => {
  expect(judge([cutStream, pages, write])).toEqual([]);
  const later = [exchange('GET', PURGED, 70, 80), exchange('GET', STREAM, 100, 110)];
  expect(judge([cutStream, pages, write, ...later])).toEqual([]);
});

const page = (next: string, at: number, status = 200) =>
  exchange('GET', `${RESOURCES}?limit=500${next && `&continue=${next}`}`, at, at + 5, status);

test('holds when the first write follows the last page, and a page was retried', () => {
  expect(judge([cutStream, page('', 21), page('b', 27, 500), page('b', 33), page('c', 39), write])).toEqual(
    [],
  );
});

describe('is broken', () => {
  const early = 'apply manageddeployments shop before all lists were complete';

  test.each<[string, KubernetesExchange[], KubernetesExchange[]]>([
    ['the list after the cut has failed', [page('', 30, 500)], [page('', 70)]],
    ['that list was never answered', [page('', 30, 0)], [page('', 70)]],
    ['only its first page has come', [page('', 30)], [page('b', 70)]],
    ['its second page has failed', [page('', 30), page('b', 40, 500)], [page('b', 70)]],
    ['its second page has expired', [page('', 30), page('b', 40, 410)], [exchange('GET', RESOURCES, 70, 80)]],
  ])('when a write comes after %s', (_, before, after) => {
    expect(judge([cutStream, ...before, write, ...after])).toEqual([expect.stringContaining(early)]);
  });

  test('when a write comes between the cut and the end of the next list', () => {
    const between = exchange('PATCH', APPLY, 35, 38);
    expect(judge([cutStream, between, pages])).toEqual([expect.stringContaining(early)]);
  });

  test('when that list has not ended at all', () => {
    const open = exchange('GET', STREAM, 30, 0);
    expect(judge([cutStream, open, write])).toEqual([expect.stringContaining(early)]);
  });

  test('when nothing is listed after the cut', () => {
    expect(judge([cutStream])).toEqual([expect.stringContaining('not listed correctly')]);
  });
});
