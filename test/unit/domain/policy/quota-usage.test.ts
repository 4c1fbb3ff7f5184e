import { describe, expect, test } from 'vitest';
import type { SourceConfig } from '../../../../src/domain/deployment/deployment.ts';
import {
  demandOf,
  type QuotaQuestion,
  quotaIssues,
  usageOf,
} from '../../../../src/domain/policy/quota-usage.ts';
import {
  isLimited,
  quotasInForce,
  type TenantQuotas,
  tenantQuotasSchema,
} from '../../../../src/domain/policy/tenant-quotas.ts';
import type { ResourceSpec } from '../../../../src/domain/resource-spec/resource-spec.ts';

const OURS = { database: false, cache: false };
const UNLIMITED: TenantQuotas = { deployments: null, cpu: null, memory_mb: null, storage_gi: null };
const NOTHING = { deployments: 0, beingDeleted: 0, cpuM: 0, memoryMb: 0, storageGi: 0 };

function config(spec: ResourceSpec | null, type: SourceConfig['deployment_type'] = null): SourceConfig {
  return {
    integration_id: null,
    repo_url: null,
    deployment_type: type,
    build_on_push: null,
    custom_url: null,
    resource_spec: spec,
    listener_id: null,
    listener_config: null,
    install_command: null,
    build_command: null,
  };
}
const usage = (spec: ResourceSpec | null, external = OURS) => usageOf(demandOf(config(spec), external));

describe('the usage of a deployment', () => {
  test('includes the pods, the database and the cache by default', () => {
    expect(usage(null)).toEqual({ cpuM: 1000 + 1000 + 500, memoryMb: 1024 + 1024 + 512, storageGi: 10 });
    const prod = usageOf(demandOf(config(null, 'prod'), OURS));
    expect(prod).toEqual({ cpuM: 10 * 2000 + 1500, memoryMb: 10 * 2048 + 1536, storageGi: 20 });
  });

  test('includes every component at full scale, in exact millicores', () => {
    const spec = { max_scale: 3, cpu: 0.1, queue_max_scale: 2, executor_cpu: 4, orchestrator_max_scale: 5 };
    expect(usage(spec).cpuM).toBe(3 * 100 + 2 * 100 + 4000 + 5 * 1000 + 1500);
  });

  test('excludes a component that is off, and is only the volume when the whole deployment is off', () => {
    expect(usage({ queue_max_scale: 0, queue_cpu: 8 }).cpuM).toBe(2500);
    expect(usage({ max_scale: 0, executor_cpu: 8, db_storage_gi: 7 })).toEqual({
      cpuM: 0,
      memoryMb: 0,
      storageGi: 7,
    });
  });

  test('excludes a database and a cache of the tenant', () => {
    expect(usage(null, { database: true, cache: true })).toEqual({
      cpuM: 1000,
      memoryMb: 1024,
      storageGi: 0,
    });
    expect(usage(null, { database: false, cache: true }).cpuM).toBe(2000);
  });

  test('adds up sidecars, and counts an init container that needs more, as the scheduler does', () => {
    const box = (cpu: string, memory: string, more: object = {}) => ({
      name: 'a',
      image: 'x',
      resources: { requests: { cpu, memory } },
      ...more,
    });
    const two = { max_scale: 2 };
    const others = 1500;
    expect(usage({ ...two, sidecars: [box('250m', '100Mi')] }).cpuM).toBe(2 * 1250 + others);
    expect(usage({ ...two, init_containers: [box('900m', '1Mi')] }).cpuM).toBe(2 * 1000 + others);
    expect(usage({ ...two, init_containers: [box('3', '1Mi')] }).cpuM).toBe(2 * 3000 + others);
    const native = box('1', '1Mi', { restartPolicy: 'Always' });
    const init = { ...box('3', '1Mi'), name: 'b' };
    expect(usage({ ...two, sidecars: [native], init_containers: [init] } as ResourceSpec).cpuM).toBe(
      2 * 4000 + others,
    );
    // Wherever a native sidecar stands: beside the app, and beside what is started after it.
    const small = { ...box('3500m', '1Mi'), name: 'c' };
    expect(usage({ ...two, init_containers: [native, init] } as ResourceSpec).cpuM).toBe(2 * 4000 + others);
    expect(usage({ ...two, init_containers: [small, native] } as ResourceSpec).cpuM).toBe(2 * 3500 + others);
    const natives = [1, 2, 3].map((number) => ({ ...native, name: `native-${number}` }));
    expect(usage({ ...two, init_containers: natives } as ResourceSpec).cpuM).toBe(2 * 4000 + others);
    // Bytes are rounded up to MiB once a pod.
    expect(usage({ sidecars: [box('0', '1')] }).memoryMb).toBe(1025 + 1536);
  });

  test('includes the defaults of the namespace for a container without resources', () => {
    const side = { name: 'a', image: 'x' };
    expect(usage({ max_scale: 2, sidecars: [side] })).toMatchObject({
      cpuM: 2 * 1050 + 1500,
      memoryMb: 2 * (1024 + 64) + 1536,
    });
    const named = { ...side, resources: { requests: { cpu: '0' }, limits: { memory: '32Mi' } } };
    expect(usage({ sidecars: [named] })).toMatchObject({ cpuM: 2500, memoryMb: 1024 + 32 + 1536 });
  });

  test('counts a limit without a request as a request', () => {
    const sidecars = [{ name: 'a', image: 'x', resources: { limits: { cpu: '2' } } }];
    expect(usage({ sidecars }).cpuM).toBe(3000 + 1500);
  });
});

describe('the check of quotas', () => {
  const ask = (more: Partial<QuotaQuestion>) =>
    quotaIssues({
      quotas: UNLIMITED,
      others: NOTHING,
      before: NOTHING,
      demand: demandOf(config(null), OURS),
      ...more,
    });
  const others = { deployments: 3, beingDeleted: 0, cpuM: 8000, memoryMb: 8000, storageGi: 100 };

  test('accepts everything without a quota', () => {
    expect(ask({ others })).toEqual([]);
  });

  test('rejects a change with the field and the calculation', () => {
    const demand = demandOf(config({ max_scale: 4, cpu: 0.5 }), OURS);
    expect(ask({ others, demand, quotas: { ...UNLIMITED, cpu: 10 } })).toEqual([
      {
        loc: ['source_config', 'resource_spec', 'cpu'],
        msg: 'the tenant would use 11.5 of 10 cores: 8 by other deployments, 3.5 by this deployment (api 4 × 0.5, database 1, cache 0.5)',
        type: 'quota_cpu',
      },
    ]);
  });

  test('names the part that uses the most', () => {
    const demand = demandOf(config({ executor_memory_mb: 9000 }), OURS);
    expect(ask({ others, demand, quotas: { ...UNLIMITED, memory_mb: 8000 } })[0]).toMatchObject({
      loc: ['source_config', 'resource_spec', 'executor_memory_mb'],
    });
  });

  test('reports every exceeded quota', () => {
    const quotas = { deployments: 3, cpu: 0, memory_mb: 0, storage_gi: 109 };
    expect(ask({ others, quotas }).map(({ type, loc }) => [type, loc.at(-1)])).toEqual([
      ['quota_deployments', undefined],
      ['quota_cpu', 'cpu'],
      ['quota_memory_mb', 'memory_mb'],
      ['quota_storage_gi', 'db_storage_gi'],
    ]);
  });

  test('accepts a change that fills a quota exactly', () => {
    expect(ask({ others, quotas: { ...UNLIMITED, cpu: 10.5 } })).toEqual([]);
    expect(ask({ others, quotas: { ...UNLIMITED, cpu: 10.499 } })).toHaveLength(1);
  });

  test('accepts equal and lower amounts above the quota, and rejects higher ones', () => {
    const quotas = { deployments: 1, cpu: 1, memory_mb: 1, storage_gi: 1 };
    const before = { deployments: 1, beingDeleted: 0, ...usage({ cpu: 2 }) };
    expect(ask({ others, before, quotas })).toEqual([]);
    const raised = demandOf(config({ cpu: 1.5, memory_mb: 1025 }), OURS);
    expect(ask({ others, before, quotas, demand: raised }).map(({ type }) => type)).toEqual([
      'quota_memory_mb',
    ]);
  });
});

describe('quotas in force', () => {
  test('are those of the policy unless the tenant has its own, where null means no limit', () => {
    const policy = { deployments: 5, cpu: 10, memory_mb: null, storage_gi: 7 };
    expect(quotasInForce(policy, { cpu: null, memory_mb: 3 })).toEqual({
      deployments: 5,
      cpu: null,
      memory_mb: 3,
      storage_gi: 7,
    });
    expect([isLimited(UNLIMITED), isLimited({}), isLimited({ cpu: 0 })]).toEqual([false, false, true]);
  });

  test('are never negative, and are whole numbers for deployments', () => {
    expect(tenantQuotasSchema.partial().parse({ cpu: 0.3 - 0.1 })).toEqual({ cpu: 0.2 });
    expect(tenantQuotasSchema.partial().parse({})).toEqual({});
    expect(tenantQuotasSchema.partial().safeParse({ cpu: -1 }).success).toBe(false);
    expect(tenantQuotasSchema.partial().safeParse({ deployments: 1.5 }).success).toBe(false);
    expect(tenantQuotasSchema.partial().safeParse({ pods: 1 }).success).toBe(false);
  });
});
