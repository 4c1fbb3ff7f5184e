import { describe, expect, test } from 'vitest';
import { forbiddenParts } from '../../../../../src/cluster/operator/access/spec-policy.ts';
import type { ObservedResource } from '../../../../../src/cluster/operator/observed.ts';
import { managedDeploymentSpecSchema } from '../../../../../src/contract/resource/managed-deployment.ts';
import { type PolicyFile, resolvePolicy } from '../../../../../src/domain/policy/policy.ts';
import { NAMESPACE, World } from '../fixtures.ts';

const PLAIN = { revision: { image: 'web:1' } };
const API = `Deployment/${NAMESPACE}/web-api`;

/** Paths that the operator rejects in a resource that was applied by hand. */
function parts(more: object, hosting: 'cloud' | 'self_hosted' = 'self_hosted', file: PolicyFile = {}) {
  const spec = managedDeploymentSpecSchema.parse({ ...PLAIN, ...more });
  const resource = { metadata: { name: 'web', namespace: NAMESPACE }, spec } as ObservedResource;
  return forbiddenParts(resource, resolvePolicy(hosting, file)).map(({ resourcePath }) => resourcePath);
}

describe('a custom resource with a security profile', () => {
  const baseline = { podTemplate: { securityProfile: 'baseline' } };

  test('is rejected when the policy does not allow the profile', () => {
    expect(parts(baseline)).toEqual([]);
    expect(parts(baseline, 'cloud')).toEqual(['spec.podTemplate.securityProfile']);
    expect(parts({ podTemplate: { securityProfile: 'restricted' } }, 'cloud')).toEqual([]);
  });

  test('keeps running when the policy is narrowed, and cannot add the profile afterwards', async () => {
    const running = new World({ ...PLAIN, ...baseline });
    await running.converge();
    expect(running.condition('Ready')).toBe('True Converged');
    const narrow = (world: World) => {
      world.policy = resolvePolicy('self_hosted', { security_profiles: [] });
      world.restart();
    };
    narrow(running);
    await running.converge();
    expect(running.condition('Ready')).toBe('True Converged');
    const other = new World(PLAIN);
    await other.converge();
    narrow(other);
    other.change({ ...PLAIN, ...baseline });
    await other.converge();
    expect(other.condition('Ready')).toBe('False Refused');
    expect(JSON.stringify(other.cluster.get(API))).toContain('"drop":["ALL"]');
  });

  test('gets new pods when the profile changes, and the same ones as before when it is removed', async () => {
    const world = new World(PLAIN);
    await world.converge();
    const template = () => JSON.stringify(world.cluster.get(API)?.['spec']);
    const before = template();
    world.change({ ...PLAIN, ...baseline });
    await world.converge();
    expect(world.condition('Ready')).toBe('True Converged');
    expect(template()).not.toContain('"drop":["ALL"]');
    world.change(PLAIN);
    await world.converge();
    expect(template()).toBe(before);
  });
});

describe('a custom resource with a health check', () => {
  const check = (healthCheck: object) => ({ components: { api: { healthCheck } } });

  test('is rejected when the check is invalid, or the policy does not allow it', () => {
    expect(parts(check({ type: 'http', path: '/healthz' }))).toEqual([]);
    expect(parts(check({ type: 'exec' }))).toEqual(['spec.components.api.healthCheck.command']);
    expect(parts(check({ type: 'exec', command: Array(64).fill('a'.repeat(100)) }))).toEqual([
      'spec.components.api.healthCheck.command',
    ]);
    expect(parts(check({ type: 'tcp', path: '/' }))).toEqual(['spec.components.api.healthCheck.path']);
    expect(parts(check({ type: 'tcp', periodSeconds: 1 }), 'cloud')).toEqual([
      'spec.components.api.healthCheck.periodSeconds',
    ]);
  });

  test('gets new pods when the check changes, and the same ones as before when it is removed', async () => {
    const world = new World(PLAIN);
    await world.converge();
    const template = () => JSON.stringify(world.cluster.get(API)?.['spec']);
    const before = template();
    world.change({ ...PLAIN, ...check({ type: 'http', path: '/healthz' }) });
    await world.converge();
    expect(world.condition('Ready')).toBe('True Converged');
    expect(template()).toContain('"/healthz"');
    world.change(PLAIN);
    await world.converge();
    expect(template()).toBe(before);
  });
});

describe('a custom resource with a placement', () => {
  const placed = (placement: object) => ({ components: { api: { placement } } });
  const master = { tolerations: [{ key: 'node-role.kubernetes.io/control-plane', operator: 'Exists' }] };

  test('is rejected when the policy does not allow it, also where the definition stores free-form objects', () => {
    expect(parts(placed({ nodeSelector: { disk: 'ssd' } }))).toEqual([]);
    expect(parts(placed({ nodeSelector: { disk: 'ssd' } }), 'cloud')).toEqual([
      'spec.components.api.placement.nodeSelector.disk',
    ]);
    expect(parts(placed(master))).toEqual(['spec.components.api.placement.tolerations[0]']);
    expect(parts(placed({ affinity: {} }), 'cloud')).toEqual(['spec.components.api.placement.affinity']);
    expect(parts(placed({ nodeSelector: { 'a b': 'c' } }))).toEqual([
      'spec.components.api.placement.nodeSelector.a b',
    ]);
  });

  test('that was allowed cannot get another toleration by a change of the component', async () => {
    const world = new World({ ...PLAIN, ...placed({ nodeSelector: { disk: 'ssd' } }) });
    await world.converge();
    expect(world.condition('Ready')).toBe('True Converged');
    expect(JSON.stringify(world.cluster.get(API))).toContain('"nodeSelector":{"disk":"ssd"}');
    world.change({ ...PLAIN, ...placed({ nodeSelector: { disk: 'ssd' }, ...master }) });
    await world.converge();
    expect(world.condition('Ready')).toBe('False Refused');
    expect(JSON.stringify(world.cluster.get(API))).not.toContain('control-plane');
  });
});

describe('a custom resource with GPUs', () => {
  const gpu = (resource: string) => ({ components: { api: { gpu: { resource, count: 1 } } } });

  test('is rejected when the resource is no device, or the policy does not allow it', () => {
    expect(parts(gpu('nvidia.com/gpu'))).toEqual([]);
    expect(parts(gpu('nvidia.com/gpu'), 'cloud')).toEqual(['spec.components.api.gpu.resource']);
    expect(parts(gpu('memory'))).toEqual(['spec.components.api.gpu.resource']);
    expect(parts(gpu('hugepages-2Mi'))).toEqual(['spec.components.api.gpu.resource']);
    expect(
      parts(gpu('nvidia.com/gpu'), 'cloud', { resources: { allowed_extended: ['nvidia.com/gpu'] } }),
    ).toEqual([]);
  });
});
