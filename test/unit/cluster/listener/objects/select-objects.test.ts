import { expect, test } from 'vitest';
import {
  type KindObjects,
  selectObjects,
} from '../../../../../src/cluster/listener/objects/select-objects.ts';
import { MAX_MAP_CHARACTERS } from '../../../../../src/contract/protocol/object-protocol.ts';
import type { ClusterObject } from '../../../../../src/domain/core/object-map.ts';

const object = (
  kind: ClusterObject['kind'],
  name: string,
  more: Partial<ClusterObject> = {},
): ClusterObject => ({
  kind,
  api_version: 'v1',
  name,
  owner: null,
  component: null,
  revision_id: null,
  state: 'ready',
  message: null,
  created_at: null,
  ...more,
});
const kindOf = (kind: ClusterObject['kind'], objects: ClusterObject[], hasMore = false): KindObjects => ({
  kind,
  objects,
  hasMore,
});
const pods = (count: number, more: Partial<ClusterObject> = {}, prefix = 'pod') =>
  Array.from({ length: count }, (_, index) => object('Pod', `${prefix}-${index}`, more));
const ROUTE = kindOf('HTTPRoute', [object('HTTPRoute', 'route')]);
const SCALER = kindOf('HorizontalPodAutoscaler', [object('HorizontalPodAutoscaler', 'scaler')]);

test('keeps all objects in their order when they fit', () => {
  const kinds = [kindOf('Pod', pods(3)), ROUTE];
  expect(selectObjects(kinds)).toEqual({ objects: kinds.flatMap(({ objects }) => objects), omitted: [] });
});

test.each([
  ['too many', pods(5_000)],
  ['too large together', pods(900, { message: 'x'.repeat(1_000) })],
  ['too large each', pods(5, { message: 'x'.repeat(MAX_MAP_CHARACTERS) })],
])('keeps the other kinds and counts the pods that are left out when pods are %s', (_why, many) => {
  const { objects, omitted } = selectObjects([kindOf('Pod', many), ROUTE, SCALER]);
  expect(JSON.stringify(objects).length).toBeLessThanOrEqual(MAX_MAP_CHARACTERS + objects.length + 2);
  expect(objects.slice(-2).map(({ name }) => name)).toEqual(['route', 'scaler']);
  expect(omitted).toEqual([{ kind: 'Pod', count: many.length - (objects.length - 2), exact: true }]);
});

test('leaves out ended pods first, then ready ones, older ones before newer ones', () => {
  const ended = pods(700, { state: 'failed', pod: { phase: 'Failed', containers: [] } }, 'evicted');
  const ready = pods(990, {}, 'ready').map((each, index) => ({
    ...each,
    created_at: new Date(index * 1_000).toISOString(),
  }));
  const failing = pods(20, { state: 'failed', pod: { phase: 'Running', containers: [] } }, 'failing');
  const { objects } = selectObjects([kindOf('Pod', [...ended, ...ready, ...failing])]);
  const names = objects.map(({ name }) => name);
  expect(names.filter((name) => name.startsWith('failing'))).toHaveLength(20);
  expect(names.filter((name) => name.startsWith('evicted'))).toEqual([]);
  expect(names).toContain('ready-989');
  expect(names).not.toContain('ready-0');
});

test('says that the count is not exact when the cluster has more objects than were read', () => {
  const { objects, omitted } = selectObjects([kindOf('Pod', pods(2), true), ROUTE]);
  expect(objects).toHaveLength(3);
  expect(omitted).toEqual([{ kind: 'Pod', count: 0, exact: false }]);
});
