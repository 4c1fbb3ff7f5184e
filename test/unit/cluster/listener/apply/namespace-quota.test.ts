import { describe, expect, test } from 'vitest';
import { namespaceQuota } from '../../../../../src/cluster/listener/apply/namespace-quota.ts';
import { parseQuantity } from '../../../../../src/domain/kubernetes/quantity.ts';
import { DEFAULT_POLICIES } from '../../../../../src/domain/policy/policy.ts';
import { quotaIssues } from '../../../../../src/domain/policy/quota-usage.ts';

const amount = (quantity: string | undefined) => parseQuantity(quantity ?? '') ?? -1n;

describe('the quota of a tenant’s namespace', () => {
  test('is twice the CPU and memory of the policy’s quotas, so that every pod can be replaced', () => {
    const { cpu, memory_mb, storage_gi, deployments } = DEFAULT_POLICIES.cloud.tenant_quotas;
    const hard = namespaceQuota(DEFAULT_POLICIES.cloud.tenant_quotas);
    expect(amount(hard['requests.cpu'])).toBe(2n * amount(String(cpu)));
    expect(amount(hard['requests.memory'])).toBe(2n * amount(`${memory_mb}Mi`));
    expect(amount(hard['requests.storage'])).toBe(amount(`${storage_gi}Gi`));
    expect(hard['persistentvolumeclaims']).toBe(String(2 * (deployments ?? 0)));
  });

  test.each([1, 9, 10, 11, 100])('has room for all objects of %i deployments that the API allows', (own) => {
    const quotas = { deployments: own, cpu: null, memory_mb: null, storage_gi: null };
    const none = { cpuM: 0, memoryMb: 0, storageGi: 0 };
    const fits = (beingDeleted: number) =>
      quotaIssues({
        quotas,
        others: { ...none, deployments: 0, beingDeleted },
        before: { ...none, deployments: 0, beingDeleted: 0 },
        demand: { parts: [], storageGi: 0 },
      }).length === 0;
    // Creates and deletes in turn, as long as the API accepts one more.
    let there = 0;
    while (fits(there)) there += 1;
    const hard = namespaceQuota(quotas);
    expect(Number(hard['persistentvolumeclaims'])).toBeGreaterThanOrEqual(there);
    expect(Number(hard['count/secrets'])).toBeGreaterThanOrEqual(there * 18);
  });

  test('has room for the certificates of as many hosts as the quota allows', () => {
    const quotas = { deployments: 2, cpu: null, memory_mb: null, storage_gi: null };
    const secrets = (domains?: number) => Number(namespaceQuota({ ...quotas, domains })['count/secrets']);
    expect(secrets(10) - secrets()).toBe(20);
  });

  test('is rounded up, and has no limit when the tenant’s quotas have none', () => {
    const quotas = { deployments: null, cpu: 0.0005, memory_mb: 0.5, storage_gi: null };
    expect(namespaceQuota(quotas)).toEqual({ 'requests.cpu': '2m', 'requests.memory': '2Mi' });
    const none = { deployments: null, cpu: null, memory_mb: null, storage_gi: null };
    expect(namespaceQuota(none)).toEqual({});
  });
});
