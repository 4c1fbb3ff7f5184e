import { expect, test } from 'vitest';
import type { UntypedObject } from '../../../../src/cluster/kube/client/object.ts';
import {
  byIdentity,
  identityChanges as changes,
  namespaceChanges,
} from '../../../../src/cluster/operator/identity-preview.ts';
import { LABELS } from '../../../../src/contract/resource/names.ts';

const of = (name: string, spec: object): UntypedObject => ({
  apiVersion: 'berth.dev/v1alpha1',
  kind: 'ManagedDeployment',
  metadata: { name, namespace: 'shop', uid: `uid-of-${name}` },
  spec,
});
const kept = (id: string): UntypedObject => ({
  apiVersion: 'apps/v1',
  kind: 'ControllerRevision',
  metadata: { name: 'web-1', namespace: 'shop', labels: { 'berth.dev/deployment-id': id } },
});

const identityChanges = (resource: UntypedObject, all: UntypedObject[], left: UntypedObject[]) =>
  changes(resource, byIdentity(all), (name) => (name === 'web' ? left : []));

test('names the resources that share an identity, and keeps the one whose uid it is', () => {
  const web = of('web', {});
  const evil = of('evil', { deploymentId: 'uid-of-web' });
  expect(identityChanges(evil, [web, evil], [])).toEqual([
    expect.stringMatching(
      /^shares its identity with web: web keeps the identity, .* stopped with the reason Conflict$/,
    ),
  ]);
  expect(identityChanges(web, [web, evil], [kept('uid-of-web')])).toEqual([]);
});

test('names the resource for which Berth has created objects', () => {
  const all = [of('evil', { deploymentId: 'x' }), of('web', { deploymentId: 'x' })] as const;
  const made = {
    ...kept('x'),
    metadata: { ...kept('x').metadata, creationTimestamp: '2025-01-01T00:00:00Z' },
  };
  made.metadata.labels = { ...made.metadata.labels, [LABELS.instance]: 'web' };
  const [evil] = all;
  expect(identityChanges(evil, [...all], [made])).toEqual([
    expect.stringContaining(': web keeps the identity'),
  ]);
});

test('reports retained data and objects that an earlier resource has left', () => {
  const recorded = of('shop', { deploymentId: 'x', database: { volumePolicy: 'Delete' } });
  expect(identityChanges(recorded, [recorded], [])).toEqual([expect.stringContaining('volumePolicy Delete')]);
  expect(identityChanges(of('web', {}), [], [kept('former')])).toEqual([
    expect.stringContaining('ControllerRevision web-1'),
  ]);
});

test('reports a deployment outside the namespace of its tenant', () => {
  expect(namespaceChanges(of('web', { deploymentId: 'x', tenantId: 't' }))).toEqual([
    expect.stringContaining('rbac.listenerNamespaces names shop'),
  ]);
  const inside = of('web', { deploymentId: 'x', tenantId: 't' });
  inside.metadata.namespace = 'berth-t';
  expect(namespaceChanges(inside)).toEqual([]);
  expect(namespaceChanges(of('web', {}))).toEqual([]);
});

test('names a resource whose name is reserved for an object of a deployment of the hub', () => {
  const cache = of('shop-0000abcd-cache', {});
  expect(identityChanges(cache, [cache], [])).toEqual([
    expect.stringContaining('reserved for an object of the deployment shop-0000abcd'),
  ]);
});

test('reports nothing when nothing changes', () => {
  const web = of('web', { database: { volumePolicy: 'Delete' } });
  expect(identityChanges(web, [web, of('shop', { deploymentId: 'x' })], [kept('uid-of-web')])).toEqual([]);
});
