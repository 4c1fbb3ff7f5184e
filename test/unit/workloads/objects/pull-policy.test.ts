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
])('%s is pulled %s where nothing is said, as Kubernetes has it for a new container', (image, policy) => {
  expect(pullPolicy(image)).toBe(policy);
});

test('in cloud mode an image of a tenant is always pulled, whatever policy the tenant specifies', () => {
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
  ['what was built', app('git_host'), `${OWN}@${DIGEST}`, 'IfNotPresent'],
  ['what was pushed to the own repository', app('internal_image'), `${OWN}:1@${DIGEST}`, 'IfNotPresent'],
  ['a tag of it, which another one on the node may have', app('internal_image'), `${OWN}:1`, 'Always'],
  ['a tag by a custom resource that says it was built', app('git_host'), `${OWN}:1`, 'Always'],
  ['of another one', app('internal_image'), `registry.example/t2/shop@${DIGEST}`, 'Always'],
  ['of somewhere else', app('external_image'), `${OWN}@${DIGEST}`, 'Always'],
  [
    'of another tenant, whose id the resource claims',
    app('internal_image', 'berth-t1', 't2'),
    `registry.example/t2/shop@${DIGEST}`,
    'Always',
  ],
  [
    'of its own id, in a namespace that is no tenant’s',
    app('internal_image', 'shop'),
    `${OWN}@${DIGEST}`,
    'Always',
  ],
  [
    'of a path that ends alike, in another registry',
    app('internal_image'),
    `elsewhere.example/t1/shop@${DIGEST}`,
    'Always',
  ],
  [
    'of a path that ends alike, below another one',
    app('internal_image'),
    `registry.example/t2/t1/shop@${DIGEST}`,
    'Always',
  ],
])('between strangers, of an app: %s', (_what, resource, image, policy) => {
  expect(appPullPolicy(resource, image, { hosting: 'cloud', registry: REGISTRY })).toBe(policy);
  expect(appPullPolicy(resource, image, { hosting: 'cloud' })).toBe('Always');
  expect(appPullPolicy(resource, image, { hosting: 'self_hosted' })).toBe(pullPolicy(image));
});

test('in cloud mode the image of a database is always pulled if it is not that of the platform', () => {
  const databaseImage = 'postgres:18';
  const image = `registry.example/t2/shop@${DIGEST}`;
  expect(databasePullPolicy(image, { hosting: 'cloud', databaseImage })).toBe('Always');
  expect(databasePullPolicy(databaseImage, { hosting: 'cloud', databaseImage })).toBeUndefined();
  expect(databasePullPolicy(image, { hosting: 'self_hosted', databaseImage })).toBeUndefined();
});
