import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DEPLOYMENT_TYPES, type DeploymentType } from '../../../../src/domain/deployment/source.ts';
import type { ResourceSpec } from '../../../../src/domain/resource-spec/resource-spec.ts';
import {
  MAX_SPEC_BYTES,
  SPEC_RULES,
  specRuleIssues,
} from '../../../../src/domain/resource-spec/spec-rules.ts';
import { validResourceSpec } from '../../../arbitraries/resource-spec.ts';

function broken(
  spec: ResourceSpec,
  deploymentType: DeploymentType | null = null,
  customDatabase = false,
): string[] {
  return specRuleIssues({ spec, deploymentType, customDatabase }).map(
    ({ loc, type }) => `${loc.join('.')} ${type}`,
  );
}

const side = (over: object = {}) => ({ name: 's', image: 'i', ...over });
const memoryOf = (containerName: string) => ({
  name: 'A',
  valueFrom: { resourceFieldRef: { containerName, resource: 'limits.memory' as const } },
});
const fileOf = (containerName: string) => ({
  path: 'p',
  resourceFieldRef: { containerName, resource: 'limits.memory' as const },
});

describe('specRuleIssues', () => {
  it('finds nothing in a valid spec, whatever its deployment_type', () => {
    fc.assert(
      fc.property(validResourceSpec(), fc.constantFrom(...DEPLOYMENT_TYPES, null), (spec, type) => {
        expect(broken(spec, type)).toEqual([]);
      }),
    );
  });

  it.each<[string, ResourceSpec]>([
    ['a min above the default max', { min_scale: 50 }],
    ['a limit below the default request', { cpu_limit: 0.001, db_memory_limit_mb: 1 }],
    ['max 0 below min', { min_scale: 3, max_scale: 0, queue_min_scale: 2, queue_max_scale: 0 }],
    ['equal values', { min_scale: 2, max_scale: 2, cpu: 0.3, cpu_limit: 0.3 }],
    ['just enough connections', { max_scale: 4, db_max_connections: 16 }],
    ['few connections while off', { max_scale: 0, db_max_connections: 11, queue_max_scale: 9 }],
    ['mounts of volumes', { volumes: [{ name: 'v' }], volume_mounts: [{ name: 'v', mountPath: '/v' }] }],
    [
      'containers that exist',
      {
        init_containers: [side({ env: [memoryOf('app')] })],
        volumes: [{ name: 'v', downwardAPI: { items: [fileOf('s')] } }],
      },
    ],
  ])('accepts %s', (_, spec) => expect(broken(spec)).toEqual([]));

  it.each<[string, ResourceSpec, string[]]>([
    ['min above max', { min_scale: 3, max_scale: 2 }, ['min_scale min_above_max']],
    [
      'the same of each component',
      { queue_min_scale: 2, queue_max_scale: 1, orchestrator_min_scale: 2, orchestrator_max_scale: 1 },
      ['queue_min_scale min_above_max', 'orchestrator_min_scale min_above_max'],
    ],
    ['cpu above its limit', { cpu: 0.301, cpu_limit: 0.3 }, ['cpu request_above_limit']],
    [
      'every other request above its limit',
      {
        memory_mb: 2,
        memory_limit_mb: 1,
        executor_cpu: 2,
        executor_cpu_limit: 1,
        cache_cpu: 2,
        cache_cpu_limit: 1,
        db_cpu: 2,
        db_cpu_limit: 1,
        db_memory_mb: 2,
        db_memory_limit_mb: 1,
      },
      [
        'executor_cpu request_above_limit',
        'cache_cpu request_above_limit',
        'db_cpu request_above_limit',
        'memory_mb request_above_limit',
        'db_memory_mb request_above_limit',
      ],
    ],
    [
      'too few connections',
      { max_scale: 4, db_max_connections: 15 },
      ['db_max_connections connections_too_few'],
    ],
    [
      'too few connections for a queue by default',
      { max_scale: 4, queue_cpu: 1, executor_cpu: 1, db_max_connections: 22 },
      ['db_max_connections connections_too_few'],
    ],
    [
      'one name in both lists',
      { init_containers: [side()], sidecars: [side({ name: 't' }), side()] },
      ['sidecars.1.name container_name_twice'],
    ],
    [
      'a mount of nothing',
      { volumes: [{ name: 'v' }], volume_mounts: [{ name: 'w', mountPath: '/w' }] },
      ['volume_mounts.0.name unknown_volume'],
    ],
    [
      'a mount of nothing in a container',
      { sidecars: [side({ volumeMounts: [{ name: 'w', mountPath: '/w' }] })] },
      ['sidecars.0.volumeMounts.0.name unknown_volume'],
    ],
    [
      'a container that is none, in a variable',
      { sidecars: [side({ env: [memoryOf('x')] })] },
      ['sidecars.0.env.0.valueFrom.resourceFieldRef.containerName unknown_container'],
    ],
    [
      'a container that is none, in a volume',
      { volumes: [{ name: 'v', downwardAPI: { items: [fileOf('x')] } }] },
      ['volumes.0.downwardAPI.items.0.resourceFieldRef.containerName unknown_container'],
    ],
    [
      'a container that is none, in a projected volume',
      { volumes: [{ name: 'v', projected: { sources: [{ downwardAPI: { items: [fileOf('x')] } }] } }] },
      ['volumes.0.projected.sources.0.downwardAPI.items.0.resourceFieldRef.containerName unknown_container'],
    ],
    ['too large a spec', { annotations: { a: 'x'.repeat(MAX_SPEC_BYTES) } }, [' spec_too_large']],
    [
      'several at once, in order',
      { min_scale: 3, max_scale: 2, cpu: 2, cpu_limit: 1 },
      ['min_scale min_above_max', 'cpu request_above_limit'],
    ],
  ])('rejects %s', (_, spec, expected) => expect(broken(spec)).toEqual(expected));

  it('checks no connection budget for an external database', () => {
    const spec = { max_scale: 100, db_max_connections: 1 };
    expect(broken(spec)).toEqual(['db_max_connections connections_too_few']);
    expect(broken(spec, null, true)).toEqual([]);
  });

  it('counts the default scales of the deployment_type', () => {
    expect(broken({ db_max_connections: 20 }, 'dev')).toEqual([]);
    expect(broken({ db_max_connections: 20 }, 'prod')).toEqual(['db_max_connections connections_too_few']);
  });

  it('names each rule once', () => {
    expect(new Set(SPEC_RULES.map(({ name }) => name)).size).toBe(SPEC_RULES.length);
  });
});
