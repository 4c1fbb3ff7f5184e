import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ResourceSpec } from '../../../src/domain/resource-spec.ts';
import { DEPLOYMENT_TYPES, type DeploymentType } from '../../../src/domain/source.ts';
import {
  MAX_SPEC_BYTES,
  SPEC_RULES,
  specChangeIssues,
  specRuleIssues,
} from '../../../src/domain/spec-rules.ts';
import { validResourceSpec } from '../../arbitraries/resource-spec.ts';

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
  ])('lets %s be', (_, spec) => expect(broken(spec)).toEqual([]));

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
  ])('refuses %s', (_, spec, expected) => expect(broken(spec)).toEqual(expected));

  it('has no connection budget where the database is not ours', () => {
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

describe('specChangeIssues', () => {
  it.each<[string, ResourceSpec, ResourceSpec, boolean]>([
    ['the same', { db_storage_gi: 20 }, { db_storage_gi: 20 }, true],
    ['growth', { db_storage_gi: 20 }, { db_storage_gi: 21 }, true],
    ['growth from the default', {}, { db_storage_gi: 11 }, true],
    ['less', { db_storage_gi: 20 }, { db_storage_gi: 19 }, false],
    ['less than the default', {}, { db_storage_gi: 9 }, false],
    ['unset again', { db_storage_gi: 20 }, {}, false],
  ])('database volume: %s', (_, before, after, allowed) =>
    expect(specChangeIssues(before, after, 'dev').map(({ loc }) => loc)).toEqual(
      allowed ? [] : [['db_storage_gi']],
    ),
  );

  it.each<[string, ResourceSpec, number, boolean]>([
    ['to what the volume has', { db_storage_gi: 20 }, 20, true],
    ['below what the volume has', { db_storage_gi: 19 }, 20, false],
    ['unset again, to the default', {}, 10, true],
    ['a volume that is larger than was asked for', { db_storage_gi: 39 }, 60, false],
  ])('a growth that was not carried out is taken back: %s', (_, after, volumeGi, allowed) => {
    const issues = specChangeIssues({ db_storage_gi: 40 }, after, 'dev', { capacityGi: volumeGi });
    expect(issues.map(({ type }) => type)).toEqual(allowed ? [] : ['storage_shrinks']);
  });

  it.each<[string, ResourceSpec, number, boolean]>([
    ['no volume', { db_storage_gi: 1 }, 0, true],
    ['no volume, unset again', {}, 0, true],
    ['the volume that is kept', { db_storage_gi: 20 }, 20, true],
    ['less than is kept', { db_storage_gi: 19 }, 20, false],
  ])('while the database is the tenant’s own the floor is what is kept: %s', (_, after, keptGi, allowed) => {
    const issues = specChangeIssues({ db_storage_gi: 1024 }, after, 'dev', { keptGi });
    expect(issues.map(({ type }) => type)).toEqual(allowed ? [] : ['storage_shrinks']);
  });

  it.each<[string, number, Parameters<typeof specChangeIssues>[3], string | null]>([
    ['at the capacity', 5, { capacityGi: 5 }, null],
    ['between capacity and what was asked for', 19, { capacityGi: 5 }, null],
    [
      'below the capacity',
      4,
      { capacityGi: 5 },
      'it is 5, 4 was asked for; the capacity of the volume is 5 Gi',
    ],
    ['a volume that does not exist', 1, { capacityGi: 0 }, null],
    ['no capacity is known', 39, {}, 'it is 40, 39 was asked for'],
    ['an earlier listener reports none of an expansion', 1, { expanding: true }, null],
    ['the capacity counts where it is reported', 4, { expanding: true, capacityGi: 5 }, 'it is 5'],
    ['kept while the database is the tenant’s own', 5, { keptGi: 40, capacityGi: 5 }, null],
    ['less than is kept', 4, { keptGi: 40, capacityGi: 5 }, 'capacity of the volume is 5 Gi'],
    [
      'larger than was asked for',
      39,
      { capacityGi: 60 },
      'it is 40, 39 was asked for; the capacity of the volume is 60 Gi',
    ],
  ])('an unfinished expansion: %s', (_, wanted, known, message) => {
    const issues = specChangeIssues({ db_storage_gi: 40 }, { db_storage_gi: wanted }, 'dev', known);
    expect(issues.map(({ msg }) => msg)).toEqual(message === null ? [] : [expect.stringContaining(message)]);
  });
});
