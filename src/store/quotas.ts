import type { SourceConfig } from '../domain/deployment.ts';
import type { QuotaUsage, TenantUsage } from '../domain/quota-usage.ts';
import { isLimited, quotasInForce, type TenantQuotas } from '../domain/tenant-quotas.ts';
import type { Reader, Transaction } from './database.ts';
import type { SealedSecrets } from './records.ts';

/** What a tenant's deployments count for together. Each deployment's share is stored with it, so that this is a sum. */

const LOCK = 'SELECT quotas FROM tenants WHERE id = $1 AND ($2 OR quotas <> $3::jsonb) FOR NO KEY UPDATE';

/**
 * The quotas in force, with the tenant locked until the transaction ends, so that of two changes the second one sees
 * the first; null, and no lock, where nothing is limited. Foreign keys to the tenant do not wait for this lock.
 * Whoever holds it may take none on a deployment that exists: those who change one take its lock first, then this.
 */
export async function lockQuotas(
  transaction: Transaction,
  tenantId: string,
  policy: TenantQuotas,
): Promise<TenantQuotas | null> {
  const [tenant] = await transaction.query<{ quotas: Partial<TenantQuotas> }>(LOCK, [
    tenantId,
    isLimited(policy),
    '{}',
  ]);
  if (tenant === undefined) return null;
  const quotas = quotasInForce(policy, tenant.quotas);
  return isLimited(quotas) ? quotas : null;
}

/** A deployment whose share is not stored. */
export interface Unmeasured {
  readonly id: string;
  readonly sourceConfig: SourceConfig;
  readonly secrets: SealedSecrets | null;
}

interface UnmeasuredRow {
  id: string;
  source_config: SourceConfig;
  secrets_id: string | null;
  key_id: string | null;
  sealed: Buffer | null;
}

const UNMEASURED = `
SELECT d.id, d.source_config, s.id AS secrets_id, s.key_id, s.sealed
FROM deployments d LEFT JOIN secret_sets s ON s.id = d.secrets_id
WHERE d.tenant_id = $1 AND d.delete_requested_at IS NULL AND d.quota_cpu_m IS NULL ORDER BY d.id LIMIT $2`;

const MEASURED = `
UPDATE deployments d SET quota_cpu_m = m.cpu_m, quota_memory_mb = m.memory_mb, quota_storage_gi = m.storage_gi
FROM unnest($2::uuid[], $3::bigint[], $4::bigint[], $5::bigint[]) AS m(id, cpu_m, memory_mb, storage_gi)
WHERE d.id = m.id AND d.tenant_id = $1 AND d.quota_cpu_m IS NULL`;

const BATCH = 500;

/**
 * Measures a tenant's deployments whose share is not stored: those that an older version made. Runs once a deployment.
 * One that is being changed meanwhile is waited for; should that one wait for us, PostgreSQL ends the circle and the
 * transaction runs again.
 */
export async function measureDeployments(
  transaction: Transaction,
  tenantId: string,
  measure: (deployment: Unmeasured) => QuotaUsage,
): Promise<void> {
  for (;;) {
    const rows = await transaction.query<UnmeasuredRow>(UNMEASURED, [tenantId, BATCH]);
    if (rows.length === 0) return;
    const usages = rows.map(({ id, source_config: sourceConfig, secrets_id, key_id: keyId, sealed }) => {
      const found = secrets_id !== null && keyId !== null && sealed !== null;
      const secrets = found ? { id: secrets_id, tenantId, deploymentId: id, keyId, sealed } : null;
      return measure({ id, sourceConfig, secrets });
    });
    await transaction.query(MEASURED, [
      tenantId,
      rows.map(({ id }) => id),
      usages.map(({ cpuM }) => cpuM),
      usages.map(({ memoryMb }) => memoryMb),
      usages.map(({ storageGi }) => storageGi),
    ]);
  }
}

/** A tenant's usage, in all and of one deployment; sums are exact up to 2^53. */
const SUM = `
SELECT d.id = $2 AS own, count(*)::int AS deployments, coalesce(sum(d.quota_cpu_m), 0)::bigint AS "cpuM",
  coalesce(sum(d.quota_memory_mb), 0)::bigint AS "memoryMb", coalesce(sum(d.quota_storage_gi), 0)::bigint AS "storageGi"
FROM deployments d WHERE d.tenant_id = $1 AND d.delete_requested_at IS NULL GROUP BY 1`;

const NOTHING: TenantUsage = { deployments: 0, cpuM: 0, memoryMb: 0, storageGi: 0 };
const NO_DEPLOYMENT = '00000000-0000-0000-0000-000000000000';

/** What one deployment counts for, and what all others of the tenant do; what is being deleted counts for nothing. */
export async function sumUsage(
  reader: Reader,
  tenantId: string,
  deploymentId: string | null,
): Promise<{ own: TenantUsage; others: TenantUsage }> {
  const rows = await reader.query<TenantUsage & { own: boolean }>(SUM, [
    tenantId,
    deploymentId ?? NO_DEPLOYMENT,
  ]);
  const of = (wanted: boolean): TenantUsage => {
    const { own: _own, ...usage } = rows.find(({ own }) => own === wanted) ?? { ...NOTHING, own: wanted };
    return usage;
  };
  return { own: of(true), others: of(false) };
}
