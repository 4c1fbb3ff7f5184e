import { describe, expect, test } from 'vitest';
import { afterCuts } from '../../faults/plans/list-cuts.ts';
import { describeKubernetesRequest } from '../../faults/proxies/kubernetes-request.ts';
import type { KubernetesExchange } from '../../faults/proxies/kubernetes-traffic.ts';

const RESOURCES = '/apis/berth.dev/v1alpha1/manageddeployments';
const WATCHED = [`listener ${RESOURCES}`];
const STREAM = `${RESOURCES}?watch=true&sendInitialEvents=true`;
const APPLY = '/apis/berth.dev/v1alpha1/namespaces/team/manageddeployments/shop?fieldManager=a';
const PURGED = '/api/v1/namespaces/team/persistentvolumeclaims?labelSelector=a';

function exchange(method: string, path: string, at: number, endedAt: number): KubernetesExchange {
  const request = { seq: at, client: 'listener', method, path, at, body: undefined };
  const type = method === 'PATCH' ? 'application/apply-patch+yaml' : '';
  return { ...describeKubernetesRequest(request, type), status: 200, upstreamStatus: 200, endedAt };
}

const cutStream = exchange('GET', STREAM, 10, 20);
const pages = exchange('GET', RESOURCES, 30, 40);
const write = exchange('PATCH', APPLY, 50, 60);

const judge = (asked: readonly KubernetesExchange[]) =>
  afterCuts({ asked, watched: WATCHED, cut: new Set(WATCHED), hasBegun: false }).map(
    ({ message }) => message,
  );

test('holds when the first write follows the first complete list', () => {
  expect(judge([cutStream, pages, write])).toEqual([]);
});

test('holds when a purge lists other kinds after that write', () => {
  const purge = [exchange('GET', PURGED, 70, 80), exchange('GET', '/api/v1/events?fieldSelector=a', 70, 90)];
  expect(judge([cutStream, pages, write, ...purge])).toEqual([]);
});

test('holds when the cache is listed again long after that write', () => {
  expect(judge([cutStream, pages, write, exchange('GET', STREAM, 100, 110)])).toEqual([]);
});

describe('is broken', () => {
  const early = 'apply manageddeployments shop before all was listed';

  test('when a write comes between the cut and the end of the next list', () => {
    const between = exchange('PATCH', APPLY, 35, 38);
    expect(judge([cutStream, between, pages])).toEqual([expect.stringContaining(early)]);
  });

  test('when that list has not ended at all', () => {
    const open = exchange('GET', STREAM, 30, 0);
    expect(judge([cutStream, open, write])).toEqual([expect.stringContaining(early)]);
  });

  test('when nothing is listed after the cut', () => {
    expect(judge([cutStream])).toEqual([expect.stringContaining('not listed as it should be')]);
  });
});
