import { expect, test } from 'vitest';
import { ownedFields } from '../../../../src/cluster/export/owned-fields.ts';

const entry = (manager: string, fieldsV1: object, subresource?: string) => ({
  manager,
  fieldsV1,
  subresource,
});

test('keeps only the fields of the given managers: members, items by their keys, values of sets, whole subtrees', () => {
  const object = {
    metadata: {
      name: 'web',
      labels: { mine: 'a', theirs: 'b' },
      finalizers: ['mine/x', 'theirs/y'],
      managedFields: [
        entry('berth-operator', {
          'f:metadata': {
            'f:labels': { 'f:mine': {} },
            'f:finalizers': { 'v:"mine/x"': {} },
          },
          'f:spec': {
            'f:selector': {},
            'f:ports': { 'k:{"port":80,"protocol":"TCP"}': { '.': {}, 'f:port': {} } },
          },
        }),
        entry('berth-replicas', { 'f:spec': { 'f:replicas': {} } }),
        entry('somebody', { 'f:spec': { 'f:paused': {} } }),
        entry('berth-operator', { 'f:status': { 'f:phase': {} } }, 'status'),
      ],
    },
    spec: {
      selector: { app: 'web', more: { deep: true } },
      ports: [
        { port: 443, protocol: 'TCP' },
        { port: 80, protocol: 'TCP', nodePort: 30000 },
      ],
      replicas: 3,
      paused: true,
    },
    status: { phase: 'Bound' },
  };
  expect(ownedFields(object, ['berth-operator', 'berth-replicas'])).toEqual({
    metadata: { labels: { mine: 'a' }, finalizers: ['mine/x'] },
    spec: {
      selector: { app: 'web', more: { deep: true } },
      // The default that the list key needs is kept; fields that others set on the item are not.
      ports: [{ port: 80, protocol: 'TCP' }],
      replicas: 3,
    },
  });
});

test('keeps the order of items', () => {
  const containers = [
    { name: 'b', image: '2' },
    { name: 'a', image: '1' },
  ];
  const managedFields = [
    entry('m', { 'f:list': { 'k:{"name":"a"}': { 'f:image': {} }, 'k:{"name":"b"}': { 'f:image': {} } } }),
  ];
  expect(ownedFields({ metadata: { managedFields }, list: containers } as object as never, ['m'])).toEqual({
    list: containers,
  });
});

test('returns an empty object when the managers own nothing', () => {
  expect(ownedFields({ metadata: {} }, ['m'])).toEqual({});
});
