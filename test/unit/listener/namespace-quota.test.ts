import { describe, expect, test } from 'vitest';
import { parseQuantity } from '../../../src/domain/kubernetes/quantity.ts';
import { DEFAULT_POLICIES } from '../../../src/domain/policy.ts';
import { namespaceQuota } from '../../../src/listener/namespace-quota.ts';

const amount = (quantity: string | undefined) => parseQuantity(quantity ?? '') ?? -1n;

describe('the quota of a tenant’s namespace', () => {
  test('lets in what the policy’s quotas allow, while every pod of it is replaced', () => {
    const { cpu, memory_mb, storage_gi, deployments } = DEFAULT_POLICIES.cloud.tenant_quotas;
    const hard = namespaceQuota(DEFAULT_POLICIES.cloud.tenant_quotas);
    expect(amount(hard['requests.cpu'])).toBe(2n * amount(String(cpu)));
    expect(amount(hard['requests.memory'])).toBe(2n * amount(`${memory_mb}Mi`));
    expect(amount(hard['requests.storage'])).toBe(amount(`${storage_gi}Gi`));
    expect(hard['persistentvolumeclaims']).toBe(String(2 * (deployments ?? 0)));
  });

  test('is rounded up, and leaves open what the tenant’s leave open', () => {
    const quotas = { deployments: null, cpu: 0.0005, memory_mb: 0.5, storage_gi: null };
    expect(namespaceQuota(quotas)).toEqual({ 'requests.cpu': '2m', 'requests.memory': '2Mi' });
    const none = { deployments: null, cpu: null, memory_mb: null, storage_gi: null };
    expect(namespaceQuota(none)).toEqual({});
  });
});
