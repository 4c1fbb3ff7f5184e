import { describe, expect, test } from 'vitest';
import { fieldsOfEntries, includesField } from '../../../../../src/cluster/kube/compare/managed-fields.ts';

const entry = (manager: string, fieldsV1: object, subresource?: string) => ({
  manager,
  fieldsV1,
  ...(subresource === undefined ? {} : { subresource }),
});

test('fieldsOfEntries merges the fields of all entries, without the status', () => {
  const entries = [
    entry('kubectl-edit', { 'f:spec': { 'f:template': { 'f:spec': { 'f:hostNetwork': {} } } } }),
    entry('kubectl-patch', { 'f:spec': { 'f:template': { 'f:spec': { 'f:hostPID': {} } } } }),
    entry('controller', { 'f:status': { 'f:phase': {} } }, 'status'),
    entry('kubectl', { 'f:spec': { 'f:replicas': {} } }, 'scale'),
  ];
  expect(fieldsOfEntries(entries)).toEqual({
    'f:spec': { 'f:template': { 'f:spec': { 'f:hostNetwork': {}, 'f:hostPID': {} } }, 'f:replicas': {} },
  });
});

describe('a field', () => {
  const fields = {
    'f:spec': {
      'f:externalIPs': {},
      'f:selector': {},
      'f:ports': { '.': {}, 'k:{"port":81,"protocol":"TCP"}': { '.': {}, 'f:port': {}, 'f:name': {} } },
      'f:template': { 'f:spec': { 'f:containers': { 'k:{"name":"app"}': { 'f:envFrom': {} } } } },
      'f:labels': { '.': {}, 'f:mine': {} },
    },
  };
  const port = { port: 81, protocol: 'TCP' };
  const container = ['spec', 'template', 'spec', 'containers', { name: 'app' }];

  test.each<[string, (string | object)[]]>([
    ['itself', ['spec', 'externalIPs']],
    ['a key of a map that is owned as a whole', ['spec', 'selector', 'app']],
    ['a list item', ['spec', 'ports', port]],
    ['a field of a list item', ['spec', 'ports', port, 'name']],
    ['a field of a container', [...container, 'envFrom']],
    ['the object that contains it', ['spec', 'template']],
    ['a key of a map', ['spec', 'labels', 'mine']],
  ])('is included: %s', (_, steps) => {
    expect(includesField(fields, steps as never)).toBe(true);
  });

  test.each<[string, (string | object)[]]>([
    ['another field', ['spec', 'externalName']],
    ['another list item', ['spec', 'ports', { port: 80, protocol: 'TCP' }]],
    ['a list item of which it only changed a field', container],
    ['another field of a list item', ['spec', 'ports', port, 'nodePort']],
    ['the same field of another container', [...container.slice(0, -1), { name: 'b' }, 'envFrom']],
    ['another key of a map', ['spec', 'labels', 'other']],
    ['any field of an object without owned fields', ['metadata', 'labels', 'mine']],
  ])('is not included: %s', (_, steps) => {
    expect(includesField(fields, steps as never)).toBe(false);
  });

  test.each([{}, { 'f:spec': {} }])('is compared with the whole only below the first step: %o', (owned) => {
    expect(includesField(owned, ['spec', 'paused'])).toBe('f:spec' in owned);
  });
});
