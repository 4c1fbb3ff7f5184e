import { expect, test } from 'vitest';
import { lineOf } from '../../../../src/cli/client/changes/watch-changes.ts';
import {
  type ClusterObject,
  noteMissing,
  parseObject,
  treeOf,
} from '../../../../src/cli/client/objects/objects.ts';

const object = (
  kind: ClusterObject['kind'],
  name: string,
  owner: ClusterObject['owner'] = null,
): ClusterObject => ({
  kind,
  name,
  owner,
  api_version: 'v1',
  component: null,
  revision_id: null,
  state: 'ready',
  message: null,
  created_at: null,
});

test('shows objects below their owners', () => {
  const objects = [
    object('ManagedDeployment', 'shop'),
    object('Deployment', 'api', { kind: 'ManagedDeployment', name: 'shop' }),
    object('ReplicaSet', 'api-1', { kind: 'Deployment', name: 'api' }),
    object('Pod', 'api-1-x', { kind: 'ReplicaSet', name: 'api-1' }),
    object('Pod', 'other', { kind: 'ReplicaSet', name: 'not listed' }),
    object('Secret', 'env', { kind: 'Deployment', name: 'api' }),
  ];
  expect(treeOf(objects).map(({ object: { name }, depth }) => [name, depth])).toEqual([
    ['shop', 0],
    ['api', 1],
    ['api-1', 2],
    ['api-1-x', 3],
    ['env', 2],
    ['other', 0],
  ]);
});

test('ends when owners form a circle', () => {
  const circle = [
    object('Pod', 'a', { kind: 'Pod', name: 'b' }),
    object('Pod', 'b', { kind: 'Pod', name: 'a' }),
  ];
  expect(treeOf(circle)).toEqual([]);
});

test('notes which objects are not listed, and which kinds could not be read', () => {
  const notes: string[] = [];
  const omitted = [
    { kind: 'Pod' as const, count: 340, exact: true },
    { kind: 'ReplicaSet' as const, count: 3, exact: false },
  ];
  noteMissing(
    { note: (text) => void notes.push(text) },
    { omitted, unread: [{ kind: 'Ingress', message: 'late' }] },
  );
  expect(notes).toEqual([
    'Ingress is missing: late',
    '340 more objects of the kind Pod are not listed',
    'at least 3 more objects of the kind ReplicaSet are not listed',
  ]);
});

test('reads the kind of an object in any case', () => {
  expect(parseObject('pod/web-1')).toEqual({ kind: 'Pod', name: 'web-1' });
});

test.each(['web', 'pod/', 'pod/a/b', 'secret/env', 'configmap/x'])('rejects the object %s', (word) => {
  expect(() => parseObject(word)).toThrow(/KIND\/NAME|kind must be one of/);
});

test.each([
  [{ type: 'reset' }, 'reset'],
  [{ type: 'change', deployment_id: 'd', generation: 4 }, 'd  generation 4'],
  [{ type: 'change', deployment_id: 'd', generation: null }, 'd  deleted'],
  [{ type: 'change', deployment_id: null, generation: null }, 'tenant'],
])('prints the line of %j', (line, text) => {
  expect(lineOf(line)).toBe(text);
});
