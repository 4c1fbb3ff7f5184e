import { expect, test } from 'vitest';
import { describeKubernetesRequest } from '../../../faults/proxies/kubernetes-request.ts';

const APPLY = 'application/apply-patch+yaml';
const MERGE = 'application/merge-patch+json';

/** `verb resource/subresource namespace name`, `-` for what is not there. */
function described(method: string, path: string, contentType = '', body?: unknown): string {
  const request = { seq: 1, client: 'c', method, path, at: 0, body };
  const { verb, resource, subresource, namespace, name } = describeKubernetesRequest(request, contentType);
  const at = subresource === '' ? resource : `${resource}/${subresource}`;
  return [verb, at, namespace, name].map((part) => part || '-').join(' ');
}

const NAMED = { metadata: { name: 'new' } };

test.each([
  ['GET', '/api/v1/namespaces/ns/pods/p', 'get pods ns p'],
  ['GET', '/api/v1/namespaces/ns/pods/p/log?follow=true', 'get pods/log ns p'],
  ['GET', '/api/v1/namespaces/ns/services/s/proxy/a/b', 'get services/proxy ns s'],
  ['GET', '/api/v1/namespaces/ns/pods?limit=500', 'list pods ns -'],
  ['GET', '/api/v1/pods', 'list pods - -'],
  ['GET', '/api/v1/pods?watch=true&resourceVersion=1', 'watch pods - -'],
  ['GET', '/api/v1/pods?watch=1', 'watch pods - -'],
  ['GET', '/api/v1/pods?watch=false', 'list pods - -'],
  [
    'GET',
    '/apis/berth.dev/v1alpha1/namespaces/ns/manageddeployments?watch=true',
    'watch manageddeployments ns -',
  ],
  ['GET', '/api/v1/namespaces', 'list namespaces - -'],
  ['GET', '/api/v1/namespaces/ns', 'get namespaces - ns'],
  ['GET', '/api/v1/namespaces/ns/status', 'get namespaces/status - ns'],
  ['PUT', '/api/v1/namespaces/ns/finalize', 'update namespaces/finalize - ns'],
  [
    'GET',
    '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/a.b',
    'get customresourcedefinitions - a.b',
  ],
  ['PUT', '/apis/coordination.k8s.io/v1/namespaces/ns/leases/l', 'update leases ns l'],
  ['DELETE', '/apis/apps/v1/namespaces/ns/deployments/d', 'delete deployments ns d'],
  ['DELETE', '/apis/apps/v1/namespaces/ns/deployments?labelSelector=a', 'deletecollection deployments ns -'],
  ['GET', '/version', 'get - - -'],
  ['GET', '/apis/apps/v1', 'get - - -'],
  ['GET', '/api', 'get - - -'],
  ['GET', '/healthz/etcd', 'get - - -'],
])('%s %s is: %s', (method, path, expected) => {
  expect(described(method, path)).toBe(expected);
});

test.each([
  ['a create has its name in its body', 'POST', '/api/v1/namespaces/ns/secrets', '', 'create secrets ns new'],
  [
    'but of a subresource in its path',
    'POST',
    '/api/v1/namespaces/ns/pods/p/eviction',
    '',
    'create pods/eviction ns p',
  ],
  ['a Namespace is in none', 'POST', '/api/v1/namespaces', '', 'create namespaces - new'],
  [
    'server-side apply is told from other patches',
    'PATCH',
    '/apis/apps/v1/namespaces/ns/deployments/d',
    APPLY,
    'apply deployments ns d',
  ],
  [
    'and these from it',
    'PATCH',
    '/apis/apps/v1/namespaces/ns/deployments/d/scale',
    MERGE,
    'patch deployments/scale ns d',
  ],
  [
    'also of a status',
    'PATCH',
    '/apis/berth.dev/v1alpha1/namespaces/ns/manageddeployments/m/status',
    APPLY,
    'apply manageddeployments/status ns m',
  ],
])('%s', (_says, method, path, contentType, expected) => {
  expect(described(method, path, contentType, NAMED)).toBe(expected);
});

test('has no name when a create asks for a generated name or has no readable body', () => {
  const generated = { metadata: { generateName: 'x-' } };
  expect(described('POST', '/api/v1/namespaces/ns/pods', '', generated)).toBe('create pods ns -');
  expect(described('POST', '/api/v1/namespaces/ns/pods')).toBe('create pods ns -');
});

test('recognizes a dry run', () => {
  const request = { seq: 1, client: 'c', method: 'PATCH', at: 0, body: {} };
  const path = '/api/v1/namespaces/ns/secrets/s?fieldManager=x';
  expect(describeKubernetesRequest({ ...request, path }, APPLY).dryRun).toBe(false);
  expect(describeKubernetesRequest({ ...request, path: `${path}&dryRun=All` }, APPLY).dryRun).toBe(true);
});
