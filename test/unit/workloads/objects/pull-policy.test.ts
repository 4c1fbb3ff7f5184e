import { expect, test } from 'vitest';
import type { ManagedDeployment } from '../../../../src/contract/resource/managed-deployment.ts';
import {
  appPullPolicy,
  databasePullPolicy,
  givenPullPolicy,
  pullPolicy,
} from '../../../../src/workloads/objects/pull-policy.ts';

const DIGEST = `sha256:${'ab'.repeat(32)}`;

// Source: SetDefaults_Container of the API server.
test.each([
  ['registry.example/app', 'Always'],
  ['registry.example:5000/app', 'Always'],
  ['registry.example/app:latest', 'Always'],
  ['registry.example/app:1.0', 'IfNotPresent'],
  [`registry.example/app@${DIGEST}`, 'IfNotPresent'],
  [`registry.example/app:1.0@${DIGEST}`, 'IfNotPresent'],
  [`registry.example/app:latest@${DIGEST}`, 'Always'],
])('gives %s the policy %s by default, as Kubernetes does for a new container', (image, policy) => {
  expect(pullPolicy(image)).toBe(policy);
});

test('always pulls an image of a tenant in cloud mode, whatever policy the tenant specifies', () => {
  for (const asked of ['Always', 'IfNotPresent', 'Never', undefined] as const) {
    expect(givenPullPolicy('registry.example/app:1.0', { hosting: 'cloud' }, asked)).toBe('Always');
    expect(givenPullPolicy('registry.example/app:1.0', { hosting: 'self_hosted' }, asked)).toBe(
      asked ?? 'IfNotPresent',
    );
  }
});

const app = (source: string, namespace = 'berth-t1', tenantId = 't1') =>
  ({
    metadata: { name: 'shop', namespace },
    spec: { source, tenantId, podTemplate: {} },
  }) as unknown as ManagedDeployment;
const OWN = 'registry.example/t1/shop';
const REGISTRY = 'registry.example';

test.each([
  ['an image that was built', app('git_host'), `${OWN}@${DIGEST}`, 'IfNotPresent'],
  [
    'an image that was pushed to the repository of the deployment',
    app('internal_image'),
    `${OWN}:1@${DIGEST}`,
    'IfNotPresent',
  ],
  [
    'a tag of this repository, which another image on the node may have',
    app('internal_image'),
    `${OWN}:1`,
    'Always',
  ],
  ['a tag in a custom resource that claims to be built', app('git_host'), `${OWN}:1`, 'Always'],
  ['an image of another deployment', app('internal_image'), `registry.example/t2/shop@${DIGEST}`, 'Always'],
  ['an external image', app('external_image'), `${OWN}@${DIGEST}`, 'Always'],
  [
    'an image of another tenant whose id the resource claims',
    app('internal_image', 'berth-t1', 't2'),
    `registry.example/t2/shop@${DIGEST}`,
    'Always',
  ],
  [
    'an image of its own id in a namespace that belongs to no tenant',
    app('internal_image', 'shop'),
    `${OWN}@${DIGEST}`,
    'Always',
  ],
  [
    'an image with the same end of the path in another registry',
    app('internal_image'),
    `elsewhere.example/t1/shop@${DIGEST}`,
    'Always',
  ],
  [
    'an image with the same end of the path below another path',
    app('internal_image'),
    `registry.example/t2/t1/shop@${DIGEST}`,
    'Always',
  ],
])('selects the policy for an app in cloud mode: %s', (_what, resource, image, policy) => {
  expect(appPullPolicy(resource, image, { hosting: 'cloud', registry: REGISTRY })).toBe(policy);
  expect(appPullPolicy(resource, image, { hosting: 'cloud' })).toBe('Always');
  expect(appPullPolicy(resource, image, { hosting: 'self_hosted' })).toBe(pullPolicy(image));
});

test('always pulls the image of a database in cloud mode when it is not that of the platform', () => {
  const databaseImage = 'postgres:18';
  const image = `registry.example/t2/shop@${DIGEST}`;
  expect(databasePullPolicy(image, { hosting: 'cloud', databaseImage })).toBe('Always');
  expect(databasePullPolicy(databaseImage, { hosting: 'cloud', databaseImage })).toBeUndefined();
  expect(databasePullPolicy(image, { hosting: 'self_hosted', databaseImage })).toBeUndefined();
});
