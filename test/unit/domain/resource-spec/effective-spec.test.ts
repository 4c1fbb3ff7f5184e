import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DEPLOYMENT_TYPES, type DeploymentType } from '../../../../src/domain/deployment/source.ts';
import {
  COMPONENT_FIELDS,
  COMPONENTS,
  type Component,
} from '../../../../src/domain/resource-spec/components.ts';
import {
  effectiveSpec,
  hasComponent,
  isOff,
  scaleOfComponent,
} from '../../../../src/domain/resource-spec/effective-spec.ts';
import {
  type EffectiveResourceSpec,
  effectiveResourceSpecSchema,
} from '../../../../src/domain/resource-spec/effective-spec-schema.ts';
import { type ResourceSpec, resourceSpecSchema } from '../../../../src/domain/resource-spec/resource-spec.ts';
import { fullResourceSpec, validResourceSpec } from '../../../arbitraries/resource-spec.ts';

function expectOrdered(effective: EffectiveResourceSpec): void {
  const pairs: [number | null, number | null][] = [
    [effective.cache_cpu, effective.cache_cpu_limit],
    [effective.db_cpu, effective.db_cpu_limit],
    [effective.db_memory_mb, effective.db_memory_limit_mb],
  ];
  for (const component of COMPONENTS.filter((name) => hasComponent(effective, name))) {
    const { cpu, cpuLimit, memory, memoryLimit, scale } = COMPONENT_FIELDS[component];
    pairs.push([effective[cpu], effective[cpuLimit]], [effective[memory], effective[memoryLimit]]);
    if (scale) pairs.push([effective[scale.min], effective[scale.max]]);
  }
  for (const [lesser, greater] of pairs) expect(lesser).toBeLessThanOrEqual(greater ?? Number.NaN);
}

describe('effectiveSpec', () => {
  it('returns the sizes of dev for an empty spec', () => {
    expect(effectiveSpec({}, null)).toEqual(effectiveSpec({}, 'dev'));
    expect(effectiveSpec({}, null)).toMatchInlineSnapshot(`
      {
        "annotations": {},
        "cache_cpu": 0.5,
        "cache_cpu_limit": 1,
        "cache_memory_mb": 512,
        "cpu": 1,
        "cpu_limit": 2,
        "db_cpu": 1,
        "db_cpu_limit": 2,
        "db_max_connections": 100,
        "db_memory_limit_mb": 2048,
        "db_memory_mb": 1024,
        "db_pool_size": 10,
        "db_storage_gi": 10,
        "executor_cpu": null,
        "executor_cpu_limit": null,
        "executor_memory_limit_mb": null,
        "executor_memory_mb": null,
        "image_pull_secrets": [],
        "init_containers": [],
        "labels": {},
        "max_scale": 1,
        "memory_limit_mb": 2048,
        "memory_mb": 1024,
        "min_scale": 1,
        "orchestrator_cpu": null,
        "orchestrator_cpu_limit": null,
        "orchestrator_max_scale": null,
        "orchestrator_memory_limit_mb": null,
        "orchestrator_memory_mb": null,
        "orchestrator_min_scale": null,
        "queue_cpu": null,
        "queue_cpu_limit": null,
        "queue_max_scale": null,
        "queue_memory_limit_mb": null,
        "queue_memory_mb": null,
        "queue_min_scale": null,
        "service_account_name": null,
        "sidecars": [],
        "volume_mounts": [],
        "volumes": [],
      }
    `);
  });

  it.each<[DeploymentType, object]>([
    [
      'dev_free',
      {
        cpu: 0.5,
        cpu_limit: 1,
        memory_mb: 512,
        memory_limit_mb: 1024,
        min_scale: 1,
        max_scale: 1,
        db_storage_gi: 5,
      },
    ],
    [
      'dev',
      {
        cpu: 1,
        cpu_limit: 2,
        memory_mb: 1024,
        memory_limit_mb: 2048,
        min_scale: 1,
        max_scale: 1,
        db_storage_gi: 10,
      },
    ],
    [
      'prod',
      {
        cpu: 2,
        cpu_limit: 4,
        memory_mb: 2048,
        memory_limit_mb: 4096,
        min_scale: 2,
        max_scale: 10,
        db_storage_gi: 20,
      },
    ],
  ])('returns the defaults of %s', (type, expected) =>
    expect(effectiveSpec({}, type)).toMatchObject(expected),
  );

  it.each<[string, ResourceSpec, DeploymentType, object]>([
    ['lowers the default min to a sent max', { max_scale: 1 }, 'prod', { min_scale: 1, max_scale: 1 }],
    ['raises the default max to a sent min', { min_scale: 15 }, 'prod', { min_scale: 15, max_scale: 15 }],
    ['keeps a sent min above one pod', { min_scale: 3 }, 'dev', { min_scale: 3, max_scale: 3 }],
    ['runs one pod for min 0', { min_scale: 0 }, 'prod', { min_scale: 1, max_scale: 10 }],
    [
      'switches off for max 0, whatever min is',
      { min_scale: 5, max_scale: 0 },
      'prod',
      { min_scale: 0, max_scale: 0 },
    ],
    [
      'sets an unset limit to twice the request',
      { cpu: 0.3, memory_mb: 100 },
      'dev',
      { cpu_limit: 0.6, memory_limit_mb: 200 },
    ],
    [
      'lowers an unset request to the limit',
      { cpu_limit: 0.2, memory_limit_mb: 100 },
      'dev',
      { cpu: 0.2, memory_mb: 100 },
    ],
    ['keeps a limit above the default request', { cpu_limit: 8 }, 'dev', { cpu: 1, cpu_limit: 8 }],
    ['treats null as unset', { cpu: null, max_scale: null }, 'dev', { cpu: 1, max_scale: 1 }],
    [
      'caps twice the request at the hard limit',
      { cpu: 200, memory_mb: 4_000_000 },
      'dev',
      { cpu_limit: 256, memory_limit_mb: 4_194_304 },
    ],
    [
      'never shows binary fractions',
      { cpu: 0.1, queue_cpu: 0.7, cache_cpu: 1.1 },
      'dev',
      { cpu_limit: 0.2, queue_cpu_limit: 1.4, cache_cpu_limit: 2.2 },
    ],
    [
      'uses the main values for the queue',
      { queue_min_scale: 1, cpu: 3, cpu_limit: 4, memory_mb: 99, max_scale: 7 },
      'dev',
      {
        queue_cpu: 3,
        queue_cpu_limit: 4,
        queue_memory_mb: 99,
        queue_memory_limit_mb: 198,
        queue_max_scale: 7,
      },
    ],
    [
      'derives the limit of the queue from its own request',
      { queue_cpu: 1, cpu: 3, cpu_limit: 9 },
      'dev',
      { queue_cpu_limit: 2 },
    ],
    ['lowers the queue to its own limit', { queue_memory_limit_mb: 64 }, 'dev', { queue_memory_mb: 64 }],
    [
      'keeps the queue while the rest is off',
      { max_scale: 0, queue_min_scale: 2 },
      'dev',
      { queue_min_scale: 2, queue_max_scale: 2 },
    ],
    [
      'fills in orchestrator and executor',
      { orchestrator_cpu_limit: 3, executor_memory_mb: 64 },
      'prod',
      {
        orchestrator_cpu: 1,
        orchestrator_memory_mb: 1024,
        orchestrator_min_scale: 1,
        orchestrator_max_scale: 1,
        executor_cpu: 1,
        executor_cpu_limit: 2,
        executor_memory_limit_mb: 128,
      },
    ],
    ['fills in the cache', { cache_cpu_limit: 0.1 }, 'dev', { cache_cpu: 0.1, cache_memory_mb: 512 }],
    [
      'fills in the database',
      { db_memory_limit_mb: 512, db_cpu: 3 },
      'dev',
      { db_memory_mb: 512, db_cpu_limit: 6, db_storage_gi: 10, db_max_connections: 100 },
    ],
  ])('%s', (_, spec, type, expected) => expect(effectiveSpec(spec, type)).toMatchObject(expected));

  it('keeps everything that was sent', () => {
    const { db_pool_size, ...rest } = effectiveSpec(fullResourceSpec, 'prod');
    expect(rest).toEqual(fullResourceSpec);
    // (200 − 10 − 1) connections for 5 + 4 + 3 + 2 pods.
    expect(db_pool_size).toBe(13);
  });

  it('is consistent for every valid spec', () => {
    fc.assert(
      fc.property(validResourceSpec(), fc.constantFrom(...DEPLOYMENT_TYPES, null), (spec, type) => {
        const effective = effectiveSpec(spec, type);
        expect(effectiveResourceSpecSchema.parse(effective)).toEqual(effective);
        expectOrdered(effective);
        // What is in effect is itself a spec that may be sent.
        const { db_pool_size, ...sendable } = effective;
        expect(resourceSpecSchema.safeParse(sendable).error).toBeUndefined();
        const kept = Object.entries(spec).filter(
          ([field, sent]) => sent !== null && !/(min|max)_scale$/.test(field),
        );
        expect(effective).toMatchObject(Object.fromEntries(kept));
      }),
    );
  });
});

describe('componentScale', () => {
  const scales = (spec: ResourceSpec, type: DeploymentType | null = null) => {
    const effective = effectiveSpec(spec, type);
    return COMPONENTS.map((component: Component) => {
      const { min, max } = scaleOfComponent(effective, component);
      return `${min}-${max}`;
    }).join(' ');
  };

  it.each<[string, ResourceSpec, string]>([
    ['only the API', {}, '1-1 0-0 0-0 0-0'],
    [
      'all components',
      { queue_cpu: 1, orchestrator_cpu: 1, executor_cpu: 1, max_scale: 3 },
      '1-3 1-3 1-1 1-1',
    ],
    [
      'the whole deployment switched off',
      { min_scale: 2, max_scale: 0, queue_min_scale: 2, orchestrator_cpu: 1, executor_cpu: 1 },
      '0-0 0-0 0-0 0-0',
    ],
    ['the queue switched off', { queue_min_scale: 2, queue_max_scale: 0 }, '1-1 0-0 0-0 0-0'],
    ['the orchestrator switched off', { orchestrator_max_scale: 0, executor_cpu: 1 }, '1-1 0-0 0-0 1-1'],
    ['min 0', { min_scale: 0, max_scale: 4, queue_min_scale: 0, queue_max_scale: 2 }, '1-4 1-2 0-0 0-0'],
  ])('returns the scale of each component: %s', (_, spec, expected) => expect(scales(spec)).toBe(expected));

  it('is switched off only by max_scale 0', () => {
    expect([{}, { max_scale: null }, { max_scale: 1 }, { max_scale: 0 }].map(isOff)).toEqual([
      false,
      false,
      false,
      true,
    ]);
  });
});
