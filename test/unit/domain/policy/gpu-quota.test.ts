import { describe, expect, test } from 'vitest';
import type { SourceConfig } from '../../../../src/domain/deployment/deployment.ts';
import { toSourceConfig } from '../../../../src/domain/deployment/deployment-bodies.ts';
import type { Gpu } from '../../../../src/domain/pod-settings/gpu.ts';
import { demandOf, quotaIssues, usageOf } from '../../../../src/domain/policy/quota-usage.ts';
import type { ResourceSpec } from '../../../../src/domain/resource-spec/resource-spec.ts';

const OURS = { database: false, cache: false };
const config = (resource_spec: ResourceSpec, gpu?: SourceConfig['gpu']): SourceConfig =>
  toSourceConfig({ resource_spec, ...(gpu === undefined ? {} : { gpu }) });
const gpus = (spec: ResourceSpec, gpu?: SourceConfig['gpu']) =>
  usageOf(demandOf(config(spec, gpu), OURS)).gpus;

const two: Gpu = { resource: 'nvidia.com/gpu', count: 2 };
const device = (name: string, count: string, more: object = {}) => ({
  name: 'a',
  image: 'x',
  resources: { limits: { [name]: count } },
  ...more,
});

describe('the GPUs of a deployment', () => {
  test('are absent from the usage if there are none', () => {
    expect(usageOf(demandOf(config({}), OURS))).not.toHaveProperty('gpus');
    expect(gpus({ sidecars: [device('cpu', '2')] })).toBeUndefined();
    expect(gpus({ sidecars: [device('hugepages-2Mi', '4Mi')] })).toBeUndefined();
  });

  test('are those of all pods at full scale', () => {
    expect(gpus({ max_scale: 3 }, { api: two })).toBe(6);
    expect(gpus({ max_scale: 3, queue_max_scale: 2 }, { api: two, queue: { ...two, count: 1 } })).toBe(8);
  });

  test('do not count for a component that does not exist or is off, or while the deployment is off', () => {
    expect(gpus({}, { queue: two })).toBeUndefined();
    expect(gpus({ queue_max_scale: 0 }, { queue: two })).toBeUndefined();
    expect(gpus({ max_scale: 0 }, { api: two })).toBeUndefined();
  });

  test('include devices of sidecars and init containers, as the scheduler counts them', () => {
    const name = 'nvidia.com/gpu';
    expect(gpus({ sidecars: [device(name, '1')] })).toBe(1);
    expect(gpus({ max_scale: 2, sidecars: [device(name, '1')] }, { api: two })).toBe(6);
    // An init container runs before the app, so its devices are free again.
    expect(gpus({ init_containers: [device(name, '1')] }, { api: two })).toBe(2);
    expect(gpus({ init_containers: [device(name, '5')] }, { api: two })).toBe(5);
    expect(gpus({ sidecars: [device('amd.com/gpu', '1')] }, { api: two })).toBe(3);
  });
});

describe('the quota of GPUs', () => {
  const quotas = { deployments: null, cpu: null, memory_mb: null, storage_gi: null, gpus: 4 };
  const used = (count: number) => ({
    deployments: 1,
    beingDeleted: 0,
    cpuM: 0,
    memoryMb: 0,
    storageGi: 0,
    ...(count === 0 ? {} : { gpus: count }),
  });
  const issues = (others: number, before: number, spec: ResourceSpec, gpu?: SourceConfig['gpu']) =>
    quotaIssues({
      quotas,
      others: used(others),
      before: used(before),
      demand: demandOf(config(spec, gpu), OURS),
    });

  test('rejects more GPUs, and names the component with the calculation', () => {
    expect(issues(1, 0, { max_scale: 2 }, { api: two })).toEqual([
      {
        loc: ['source_config', 'gpu', 'api'],
        msg: 'the tenant would use 5 of 4 GPUs and other devices: 1 by other deployments, 4 by this deployment (api 2 × 2)',
        type: 'quota_gpus',
      },
    ]);
  });

  test('accepts what fits, and what does not raise the usage', () => {
    expect(issues(0, 0, { max_scale: 2 }, { api: two })).toEqual([]);
    expect(issues(9, 4, { max_scale: 2 }, { api: two })).toEqual([]);
    expect(issues(9, 0, {})).toEqual([]);
  });

  test('has no limit if it is absent or null', () => {
    for (const limit of [{}, { gpus: null }]) {
      const unlimited = { deployments: null, cpu: null, memory_mb: null, storage_gi: null, ...limit };
      const demand = demandOf(config({ max_scale: 100 }, { api: two }), OURS);
      expect(quotaIssues({ quotas: unlimited, others: used(0), before: used(0), demand })).toEqual([]);
    }
  });
});
