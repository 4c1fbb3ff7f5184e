import type { SourceConfig } from '../../../domain/deployment/deployment.ts';
import type { QuotaUsage, TenantUsage } from '../../../domain/policy/quota-usage.ts';
import { isLimited, quotasInForce, type TenantQuotas } from '../../../domain/policy/tenant-quotas.ts';
import type { Transaction } from '../core/database.ts';
import type { SealedSecrets } from '../core/records.ts';

/**
 * The total quota usage of a tenant's deployments. The usage of each deployment is stored with it, so the total is a
 * sum.
 */

const LOCK = 'SELECT quotas FROM tenants WHERE id = $1 AND ($2 OR quotas <> $3::jsonb) FOR NO KEY UPDATE';

/**
 * The effective quotas. The tenant is locked until the transaction ends, so that of two changes, the second sees the
 * first. null, without a lock, when no quota has a limit. Foreign keys to the tenant do not wait for this lock. The
 * caller must not lock an existing deployment afterwards, because changes lock the deployment first, then the tenant.
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

/** A deployment whose usage is not stored. */
export interface Unmeasured {
  readonly id: string;
  readonly sourceConfig: SourceConfig;
  readonly secrets: SealedSecrets | null;
}

export type Measure = (deployment: Unmeasured) => QuotaUsage;

interface UnmeasuredRow {
  id: string;
  generation: number;
  source_config: SourceConfig;
  secrets_id: string | null;
  key_id: string | null;
  sealed: Buffer | null;
  deleting: boolean;
  /** The counted volume in GiB; null: not measured. */
  stored: number | null;
}

const SHARES = `SELECT d.id, d.generation, d.source_config, d.delete_requested_at IS NOT NULL AS deleting,
  s.id AS secrets_id, s.key_id, s.sealed, d.quota_storage_gi AS stored
FROM deployments d LEFT JOIN secret_sets s ON s.id = d.secrets_id`;

const UNMEASURED = `${SHARES} WHERE d.tenant_id = $1 AND d.id > $2 AND d.quota_cpu_m IS NULL
ORDER BY d.id LIMIT $3`;

/**
 * Locked rows are skipped, because a transaction that changes the deployment of a locked row may wait for the tenant
 * lock of this transaction.
 */
const MEASURED = `
WITH free AS (
  SELECT id FROM deployments WHERE tenant_id = $1 AND id = ANY($2::uuid[]) FOR NO KEY UPDATE SKIP LOCKED
)
UPDATE deployments d SET quota_cpu_m = m.cpu_m, quota_memory_mb = m.memory_mb, quota_storage_gi = m.storage_gi
FROM unnest($2::uuid[], $3::int[], $4::bigint[], $5::bigint[], $6::bigint[])
    AS m(id, generation, cpu_m, memory_mb, storage_gi) JOIN free ON free.id = m.id
WHERE d.id = m.id AND d.generation = m.generation AND d.quota_cpu_m IS NULL`;

const BATCH = 500;
const NO_DEPLOYMENT = '00000000-0000-0000-0000-000000000000';

function toUnmeasured(tenantId: string, row: UnmeasuredRow): Unmeasured {
  const { id, source_config: sourceConfig, secrets_id: secretsId, key_id: keyId, sealed } = row;
  const found = secretsId !== null && keyId !== null && sealed !== null;
  return {
    id,
    sourceConfig,
    secrets: found ? { id: secretsId, tenantId, deploymentId: id, keyId, sealed } : null,
  };
}

/** An existing volume counts, independent of the size that would be requested now. */
function shareOf(tenantId: string, row: UnmeasuredRow, measure: Measure): QuotaUsage {
  const usage = measure(toUnmeasured(tenantId, row));
  return { ...usage, storageGi: row.stored ?? usage.storageGi };
}

const volumeAlone = ({ storageGi }: QuotaUsage): QuotaUsage => ({ cpuM: 0, memoryMb: 0, storageGi });

/** Measures deployments of an older version and stores the results, except for locked deployments. */
async function measureAll(
  transaction: Transaction,
  tenantId: string,
  measure: Measure,
): Promise<Map<string, QuotaUsage>> {
  const measured = new Map<string, QuotaUsage>();
  let last = NO_DEPLOYMENT;
  for (;;) {
    const rows = await transaction.query<UnmeasuredRow>(UNMEASURED, [tenantId, last, BATCH]);
    const usages = rows.map((row) => shareOf(tenantId, row, measure));
    for (const [index, { id, deleting }] of rows.entries()) {
      const usage = usages[index];
      if (usage !== undefined) measured.set(id, deleting ? volumeAlone(usage) : usage);
    }
    last = rows.at(-1)?.id ?? last;
    if (rows.length === 0) return measured;
    await transaction.query(MEASURED, [
      tenantId,
      rows.map(({ id }) => id),
      rows.map(({ generation }) => generation),
      usages.map(({ cpuM }) => cpuM),
      usages.map(({ memoryMb }) => memoryMb),
      usages.map(({ storageGi }) => storageGi),
    ]);
  }
}

/**
 * The sums of one deployment and of all others, and the deployments that are not included in the sums. The sums are
 * exact up to 2^53. A volume that is larger than requested, such as after an expansion that was reverted too late,
 * counts with its actual size.
 */
const SUM = `
SELECT d.id = $2 AS own,
  count(*) FILTER (WHERE d.delete_requested_at IS NULL)::int AS deployments,
  count(d.delete_requested_at)::int AS "beingDeleted",
  coalesce(sum(d.quota_cpu_m) FILTER (WHERE d.delete_requested_at IS NULL), 0)::bigint AS "cpuM",
  coalesce(sum(d.quota_memory_mb) FILTER (WHERE d.delete_requested_at IS NULL), 0)::bigint AS "memoryMb",
  coalesce(sum(greatest(d.quota_storage_gi, d.volume_gi)) FILTER (WHERE d.quota_cpu_m IS NOT NULL), 0)::bigint AS "storageGi",
  coalesce(array_agg(d.id) FILTER (WHERE d.quota_cpu_m IS NULL), '{}') AS unmeasured
FROM deployments d WHERE d.tenant_id = $1 GROUP BY 1`;

interface SumRow extends TenantUsage {
  own: boolean;
  unmeasured: string[];
}

const NOTHING: TenantUsage = { deployments: 0, beingDeleted: 0, cpuM: 0, memoryMb: 0, storageGi: 0 };

/** @param counted a row of the sums, of which only the usage is read */
function plus(counted: TenantUsage, more: readonly QuotaUsage[]): TenantUsage {
  const { deployments, beingDeleted, cpuM, memoryMb, storageGi } = counted;
  return more.reduce<TenantUsage>(
    (sum, each) => ({
      deployments,
      beingDeleted,
      cpuM: sum.cpuM + each.cpuM,
      memoryMb: sum.memoryMb + each.memoryMb,
      storageGi: sum.storageGi + each.storageGi,
    }),
    { deployments, beingDeleted, cpuM, memoryMb, storageGi },
  );
}

/** The usage of one deployment (null: no deployment), and of all other deployments of the tenant. */
export interface SharedUsage {
  readonly own: TenantUsage;
  readonly others: TenantUsage;
}

const SHARE = `${SHARES} WHERE d.tenant_id = $1 AND d.id = $2`;

/**
 * The size of the volume that counts for a deployment, in GiB. This size counts until the deployment no longer exists.
 * 0: the deployment has no volume, or does not exist.
 */
export async function readVolumeGi(
  transaction: Transaction,
  tenantId: string,
  deploymentId: string,
  measure: Measure,
): Promise<number> {
  const [row] = await transaction.query<UnmeasuredRow>(SHARE, [tenantId, deploymentId]);
  // The measurement decrypts the secrets, so it is done only if no usage is stored.
  return row === undefined ? 0 : (row.stored ?? measure(toUnmeasured(tenantId, row)).storageGi);
}

/**
 * Reads the usage of a tenant. The volume of a deployment that is being deleted counts until the volume is removed.
 * @param measure measures deployments of an older version, whose usage is not stored
 */
export async function readUsage(
  transaction: Transaction,
  tenantId: string,
  deploymentId: string | null,
  measure: Measure,
): Promise<SharedUsage> {
  let measured: ReadonlyMap<string, QuotaUsage> = new Map();
  for (;;) {
    // One statement returns both the sums and the deployments that are not included, so that each deployment counts
    // exactly once.
    const rows = await transaction.query<SumRow>(SUM, [tenantId, deploymentId ?? NO_DEPLOYMENT]);
    if (rows.every(({ unmeasured }) => unmeasured.every((id) => measured.has(id)))) {
      const of = (wanted: boolean): TenantUsage => {
        const row = rows.find(({ own }) => own === wanted);
        return plus(row ?? NOTHING, row?.unmeasured.flatMap((id) => measured.get(id) ?? []) ?? []);
      };
      return { own: of(true), others: of(false) };
    }
    measured = await measureAll(transaction, tenantId, measure);
  }
}
