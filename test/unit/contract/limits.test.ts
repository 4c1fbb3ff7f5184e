import { describe, expect, test } from 'vitest';
import { forbiddenParts } from '../../../src/cluster/operator/access/spec-policy.ts';
import type { ObservedResource } from '../../../src/cluster/operator/observed.ts';
import { customResourceDefinition } from '../../../src/contract/crd/crd.ts';
import type { StructuralSchema } from '../../../src/contract/crd/structural-schema.ts';
import { managedDeploymentSpecSchema } from '../../../src/contract/resource/managed-deployment.ts';
import { isZeroQuantity } from '../../../src/domain/kubernetes/limits.ts';
import { policyFileSchema, resolvePolicy } from '../../../src/domain/policy/policy.ts';
import { resourceSpecSchema } from '../../../src/domain/resource-spec/resource-spec.ts';
import { resourceSpecInputSchema } from '../../../src/domain/resource-spec/resource-spec-input.ts';
import { leavesOf, structuralLeavesOf } from './schema-walk.ts';

/** Everything that the API server parses as 0. */
const ZEROS = ['0', '0m', '0Mi', '0.0', '.0', '0.', '-0', '+0', '-0.0Gi', '0e5', '0E-3', '0n', '0k', '00'];
/** Close to 0, but rounded up. */
const TINY = ['1n', '0.0000000001', '1e-300', '0.5'];

describe('isZeroQuantity', () => {
  test.each(ZEROS)('returns true for %s', (zero) => expect(isZeroQuantity(zero)).toBe(true));
  test.each([...TINY, '1', 'x', ''])('returns false for %j', (text) =>
    expect(isZeroQuantity(text)).toBe(false),
  );
});

const container = (limits: object) => [{ name: 'helper', image: 'helper:1', resources: { limits } }];
const atContainers = (list: string, zero: unknown) =>
  ['cpu', 'memory', 'ephemeral-storage', 'hugepages-2Mi', 'hugepages-32Mi'].map((name) => ({
    spec: { [list]: container({ memory: '1Gi', [name]: zero }) },
    path: [list, 0, 'resources', 'limits', name],
  }));

/** Every quantity of resource_spec, with specs that set it as a limit; null: it is not a limit, and may be 0. */
const QUANTITIES: Readonly<Record<string, ((zero: unknown) => { spec: object; path: unknown[] }[]) | null>> =
  {
    'volumes[].emptyDir.sizeLimit': (zero) =>
      ['', 'Memory'].map((medium) => ({
        spec: { volumes: [{ name: 'v', emptyDir: { medium, sizeLimit: zero } }] },
        path: ['volumes', 0, 'emptyDir', 'sizeLimit'],
      })),
    'init_containers[].resources.limits.*': (zero) => atContainers('init_containers', zero),
    'init_containers[].resources.requests.*': null,
    'sidecars[].resources.limits.*': (zero) => atContainers('sidecars', zero),
    'sidecars[].resources.requests.*': null,
  };

/** Numbers for which 0 has a meaning. */
const NUMBERS_FROM_ZERO = /(?:^|_)(?:min|max)_scale$|[mM]ode$|runAs(?:User|Group)$/;

describe('the validation of resource_spec', () => {
  const leaves = leavesOf(resourceSpecSchema);

  test('has no quantity that this test does not cover', () => {
    const quantities = leaves.filter(({ schema }) => schema.quantity).map(({ path }) => path);
    expect(quantities.toSorted()).toEqual(Object.keys(QUANTITIES).toSorted());
  });

  const limits = Object.values(QUANTITIES).flatMap((write) => (write === null ? [] : [write]));
  test.each([...ZEROS, 0, -0, 0.0])('rejects %j as a limit and names the field', (zero) => {
    for (const { spec, path } of limits.flatMap((write) => write(zero))) {
      const { error } = resourceSpecInputSchema.safeParse(spec);
      expect(error?.issues.map((issue) => issue.path)).toContainEqual(path);
    }
  });

  test('accepts 0 of an extended resource as no device', () => {
    const gpus = { limits: { 'example.com/gpu': '0' }, requests: { 'example.com/gpu': '0' } };
    const spec = { sidecars: [{ name: 'helper', image: 'helper:1', resources: gpus }] };
    expect(resourceSpecInputSchema.safeParse(spec).success).toBe(true);
  });

  test.each(['-1', '-1m', '-0.1Gi'])('rejects %s as a limit', (negative) => {
    for (const { spec } of limits.flatMap((write) => write(negative)))
      expect(resourceSpecInputSchema.safeParse(spec).success).toBe(false);
  });

  test('rejects 0 as a limit of a native sidecar', () => {
    const [native] = container({ cpu: '0' });
    const spec = { sidecars: [{ ...native, restartPolicy: 'Always' }] };
    expect(resourceSpecInputSchema.safeParse(spec).success).toBe(false);
  });

  test('requires numbers above 0, except where 0 has a meaning', () => {
    const numbers = leaves.filter(({ schema }) => schema.type === 'integer' || schema.type === 'number');
    expect(numbers.length).toBeGreaterThan(30);
    const fromZero = numbers
      .filter(({ schema }) => !(Number(schema['minimum'] ?? schema['exclusiveMinimum'] ?? 0) > 0))
      .map(({ path }) => path);
    expect(fromZero.filter((path) => !NUMBERS_FROM_ZERO.test(path))).toEqual([]);
  });
});

interface Rule {
  readonly message: string;
}

describe('the validation of the custom resource', () => {
  const [version] = customResourceDefinition().spec.versions;
  const { spec } = version?.schema.openAPIV3Schema.properties ?? {};
  const leaves = structuralLeavesOf(spec ?? {});
  const rulesOf = (schema: Readonly<Record<string, unknown>>) =>
    ((schema['x-kubernetes-validations'] ?? []) as Rule[]).map(({ message }) => message);
  const isQuantity = (schema: Readonly<Record<string, unknown>>) =>
    rulesOf(schema).some((message) => /quantity|more than 0/.test(message));

  test('has a rule against 0 for every limit', () => {
    const limits = leaves.filter(({ path, schema }) => isQuantity(schema) && !/\.requests\./.test(path));
    // Six parts of two limits, two lists of containers, sizeLimit, storage.
    expect(limits).toHaveLength(6 * 2 + 2 + 1 + 1);
    const lists = limits.filter(({ path }) => path.endsWith('.limits.*'));
    expect(lists).toHaveLength(2);
    for (const { path, schema } of limits.filter((limit) => !lists.includes(limit)))
      expect(rulesOf(schema).join(), path).toContain('must be more than 0');
    const { properties = {} } = (spec?.properties?.['podTemplate'] ?? {}) as StructuralSchema;
    for (const list of ['initContainers', 'sidecars']) {
      const all = properties[list]?.items?.properties?.['resources']?.properties?.['limits'];
      expect(rulesOf(all ?? {}).join(), list).toContain('must be more than 0');
    }
  });

  test('requires numbers above 0, except where 0 has a meaning', () => {
    const fromZero = leaves
      .filter(({ schema }) => schema.type === 'integer' && !(Number(schema['minimum'] ?? 0) > 0))
      .map(({ path }) => path);
    const allowed = /scale\.(?:min|max)$|[gG]eneration$|[mM]ode$|tolerationSeconds$/;
    expect(fromZero.filter((path) => !allowed.test(path))).toEqual([]);
  });

  /** A resource as an earlier CRD allowed it to be stored. */
  const stored = (more: object) =>
    ({
      metadata: { name: 'web', namespace: 'shop' },
      spec: managedDeploymentSpecSchema.parse({ revision: { image: 'web:1' }, ...more }),
    }) as unknown as ObservedResource;
  const zero = { resources: { limits: { cpu: '0m', memory: '1Gi' } } };

  test.each([
    ['components.api', { components: { api: zero } }, 'resources.limits.cpu'],
    ['components.queue', { components: { queue: zero } }, 'resources.limits.cpu'],
    ['components.orchestrator', { components: { orchestrator: zero } }, 'resources.limits.cpu'],
    ['components.executor', { components: { executor: zero } }, 'resources.limits.cpu'],
    ['database', { database: zero }, 'resources.limits.cpu'],
    ['database', { database: { storage: '0Gi' } }, 'storage'],
    ['cache', { cache: zero }, 'resources.limits.cpu'],
    [
      'podTemplate',
      { podTemplate: { sidecars: container({ cpu: '0e3' }) } },
      'sidecars[0].resources.limits.cpu',
    ],
    [
      'podTemplate',
      { podTemplate: { volumes: [{ name: 'v', emptyDir: { sizeLimit: '-0' } }] } },
      'volumes[0].emptyDir.sizeLimit',
    ],
  ])('reports a limit of 0 that an earlier CRD allowed: %s %j', (part, more, field) => {
    for (const hosting of ['cloud', 'self_hosted'] as const) {
      const found = forbiddenParts(stored(more), resolvePolicy(hosting));
      expect(found.map(({ resourcePath }) => resourcePath)).toEqual([`spec.${part}.${field}`]);
    }
  });
});

describe('a CPU value with float noise in a custom resource', () => {
  const NOISE = '0.30000000000000004';
  const both = (cpu: string) => ({ requests: { cpu }, limits: { cpu } });
  const spec = (cpu: string) => {
    const list = [{ name: 'helper', image: 'helper:1', resources: both(cpu) }];
    const part = { resources: both(cpu) };
    return {
      revision: { image: 'web:1' },
      components: { api: part, queue: part, orchestrator: part, executor: part },
      database: part,
      cache: part,
      podTemplate: { initContainers: list, sidecars: list },
    };
  };

  test('is accepted in every CPU field, and is rounded for containers', () => {
    const { podTemplate } = managedDeploymentSpecSchema.parse(spec(NOISE));
    for (const list of [podTemplate.initContainers, podTemplate.sidecars])
      expect(list?.[0]?.resources).toEqual(both('300m'));
    for (const cpu of ['300.00000000000006m', '0.29999999999999999', '1.0000000000000002', '0.3'])
      expect(managedDeploymentSpecSchema.safeParse(spec(cpu)).error, cpu).toBeUndefined();
  });

  test('is accepted when only the noise exceeds the limit', () => {
    const resources = { requests: { cpu: NOISE }, limits: { cpu: '0.3' } };
    const podTemplate = { sidecars: [{ name: 'helper', image: 'helper:1', resources }] };
    expect(managedDeploymentSpecSchema.safeParse({ ...spec('1'), podTemplate }).error).toBeUndefined();
  });

  test.each(['0.3005', '300500u', '0.000000001', '1n'])(
    'is rejected for a container when it is finer than 1m: %s',
    (cpu) => {
      const { error } = managedDeploymentSpecSchema.safeParse({
        ...spec('1'),
        podTemplate: { sidecars: [{ name: 'helper', image: 'helper:1', resources: { limits: { cpu } } }] },
      });
      expect(error?.issues.map(({ message }) => message)).toContain(
        'must be a multiple of 1m (a thousandth of a core)',
      );
    },
  );
});

test('rounds the CPU caps of the policy', () => {
  expect(resolvePolicy('cloud', policyFileSchema.parse({ caps: { cpu: 0.1 + 0.2 } })).caps.cpu).toBe(0.3);
  const byType = policyFileSchema.parse({ caps_by_type: { prod: { cpu: 1.9999999999999998 } } });
  expect(byType.caps_by_type?.['prod']?.cpu).toBe(2);
});
