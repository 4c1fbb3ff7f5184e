import { expect, test } from 'vitest';
import type { ClusterState } from '../../faults/walk/cluster-state.ts';
import { ObjectMemory } from '../../faults/walk/object-memory.ts';
import { TemplateMemory } from '../../faults/walk/template-memory.ts';
import { deployment, stateOf } from './walk-fixtures.ts';

test('a record that comes back has the templates of before, and of one revision the very same', () => {
  const memory = new TemplateMemory();
  const same = deployment('id-0001', null);
  expect(memory.issues(stateOf('id-0001'), same)).toEqual([]);
  expect(memory.issues(stateOf('id-0001'), same)).toEqual([]);
  const issues = memory.issues(stateOf('id-0001', { cpu: '2' }), same);
  expect(issues.map(({ diff }) => diff)).toEqual([['<app>-api.spec.cpu: walked "2", direct "1"']]);
});

test('a record that comes back has the objects of before, each as it was, and no other', () => {
  const memory = new ObjectMemory();
  const same = deployment('id-0001', null);
  const state = stateOf('id-0001');
  const service = (port: number, more: object = {}) => ({
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'shop-0001-api', ...more },
    spec: { ports: [{ port }], clusterIP: '10.0.0.1' },
  });
  const withService = (...args: Parameters<typeof service>) =>
    ({ ...state, Service: [service(...args)] }) as unknown as ClusterState;
  expect(memory.differences(withService(80), same)).toEqual([]);
  memory.remember(withService(80), same);
  expect(memory.differences(withService(80, { uid: 'another' }), same)).toEqual([]);
  expect(memory.differences(withService(81), same)).toHaveLength(1);
  expect(memory.differences(state, same)).toHaveLength(1);
  expect(memory.differences(withService(80, { deletionTimestamp: 'now' }), same)).toHaveLength(1);
  expect(memory.returned).toBe(0);
  memory.remember(withService(80), same);
  expect(memory.returned).toBe(1);
});

test('a record that comes back has the Deployments and the environment of before', () => {
  const memory = new ObjectMemory();
  const same = deployment('id-0001', null);
  memory.remember(stateOf('id-0001', { replicas: 2 }), same);
  expect(memory.differences(stateOf('id-0001', { replicas: 2 }), same)).toEqual([]);
  expect(memory.differences(stateOf('id-0001', { replicas: 1 }), same)).toEqual([
    'Deployment/<app>-api.spec.replicas: walked 1, direct 2',
  ]);
  expect(memory.differences(stateOf('id-0001', { replicas: 2, value: 'old' }), same)).toEqual([
    'Secret/<app>-env.data.A: walked "old", direct "hello"',
  ]);
  memory.remember(stateOf('id-0001', { replicas: 2, scaled: true }), same);
  expect(memory.differences(stateOf('id-0001', { replicas: 3, scaled: true }), same)).toEqual([]);
});
