import { NIL_UUID } from '../../../domain/core/id.ts';
import type { SourceConfig, SourceRevisionConfig } from '../../../domain/deployment/deployment.ts';
import type { QuotaUsage, TenantUsage } from '../../../domain/policy/quota-usage.ts';
import { isLimited, quotasInForce, type TenantQuotas } from '../../../domain/policy/tenant-quotas.ts';
import type { Transaction } from '../core/database.ts';
import { and, eq, gt, isNull, or, type SQL, sql } from '../core/drizzle.ts';
import type { SealedSecrets } from '../core/records.ts';
import { deployments, secretSets } from '../core/schema.ts';
import { lockQuotasStatement } from '../sql/quotas/lock-quotas.ts';
import { runningProcfilesStatement } from '../sql/quotas/running-procfiles.ts';
import { storeUsageStatement } from '../sql/quotas/store-usage.ts';
import { sumUsageStatement } from '../sql/quotas/sum-usage.ts';

/**
 * The total quota usage of a tenant's deployments. The usage of each deployment is stored with it, so the total is a
 * sum.
 */

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
  const [tenant] = await transaction.run(lockQuotasStatement, { tenantId, limited: isLimited(policy) });
  if (tenant === undefined) return null;
  const quotas = quotasInForce(policy, tenant.quotas);
  return isLimited(quotas) ? quotas : null;
}

/** A deployment whose usage is not stored. */
export interface Unmeasured {
  readonly id: string;
  readonly sourceConfig: SourceConfig;
  readonly sourceRevisionConfig: SourceRevisionConfig;
  readonly secrets: SealedSecrets | null;
}

export type Measure = (deployment: Unmeasured) => QuotaUsage;

/** Selects what is needed to measure deployments. */
const shares = (transaction: Transaction, condition: SQL | undefined) =>
  transaction.drizzle
    .select({
      id: deployments.id,
      generation: deployments.generation,
      sourceConfig: deployments.sourceConfig,
      sourceRevisionConfig: deployments.sourceRevisionConfig,
      deleting: sql<boolean>`${deployments.deleteRequestedAt} IS NOT NULL`,
      secrets: { id: secretSets.id, keyId: secretSets.keyId, sealed: secretSets.sealed },
      /** The counted volume in GiB; null: not measured. */
      storedGi: deployments.quotaStorageGi,
    })
    .from(deployments)
    .leftJoin(secretSets, eq(secretSets.id, deployments.secretsId))
    .where(condition)
    .orderBy(deployments.id)
    .limit(BATCH);

type Share = Awaited<ReturnType<typeof shares>>[number];

const BATCH = 500;

function toUnmeasured(
  tenantId: string,
  { id, sourceConfig, sourceRevisionConfig, secrets }: Share,
): Unmeasured {
  return {
    id,
    sourceConfig,
    sourceRevisionConfig,
    secrets: secrets && { ...secrets, tenantId, deploymentId: id },
  };
}

/** The result of a build: its image and, if the repository has one, its Procfile. */
const isBuilt = ({ image_uri, procfile }: SourceRevisionConfig) =>
  image_uri !== null || procfile !== undefined;

/**
 * Adds the Procfile with which a cluster runs the deployment while its latest revision is not built, or its build has
 * failed. The components of this Procfile run, so they count.
 */
export async function withRunningProcfiles<
  T extends { readonly id: string; readonly sourceRevisionConfig: SourceRevisionConfig },
>(transaction: Transaction, tenantId: string, rows: readonly T[]): Promise<T[]> {
  const deploymentIds = rows.filter((row) => !isBuilt(row.sourceRevisionConfig)).map(({ id }) => id);
  if (deploymentIds.length === 0) return [...rows];
  const found = await transaction.run(runningProcfilesStatement, { tenantId, deploymentIds });
  const procfiles = new Map(found.map(({ id, procfile }) => [id, procfile]));
  return rows.map((row) => {
    const procfile = isBuilt(row.sourceRevisionConfig) ? undefined : procfiles.get(row.id);
    const { sourceRevisionConfig } = row;
    return procfile === undefined
      ? row
      : { ...row, sourceRevisionConfig: { ...sourceRevisionConfig, procfile } };
  });
}

/** An existing volume counts, independent of the size that would be requested now. */
function shareOf(tenantId: string, row: Share, measure: Measure): QuotaUsage {
  const usage = measure(toUnmeasured(tenantId, row));
  return { ...usage, storageGi: row.storedGi ?? usage.storageGi };
}

const volumeAlone = ({ storageGi }: QuotaUsage): QuotaUsage => ({ cpuM: 0, memoryMb: 0, storageGi });

/** Measures deployments of an older version and stores the results, except for locked deployments. */
async function measureAll(
  transaction: Transaction,
  tenantId: string,
  measure: Measure,
): Promise<Map<string, QuotaUsage>> {
  const measured = new Map<string, QuotaUsage>();
  let last = NIL_UUID;
  for (;;) {
    const unmeasured = and(
      eq(deployments.tenantId, tenantId),
      gt(deployments.id, last),
      or(
        isNull(deployments.quotaCpuM),
        sql`${deployments.quotaGpusGeneration} IS DISTINCT FROM ${deployments.generation}`,
      ),
    );
    const rows = await withRunningProcfiles(transaction, tenantId, await shares(transaction, unmeasured));
    const usages = rows.map((row) => shareOf(tenantId, row, measure));
    for (const [index, { id, deleting }] of rows.entries()) {
      const usage = usages[index];
      if (usage !== undefined) measured.set(id, deleting ? volumeAlone(usage) : usage);
    }
    last = rows.at(-1)?.id ?? last;
    if (rows.length === 0) return measured;
    await transaction.run(storeUsageStatement, {
      tenantId,
      deploymentIds: rows.map(({ id }) => id),
      generations: rows.map(({ generation }) => generation),
      cpuM: usages.map(({ cpuM }) => cpuM),
      memoryMb: usages.map(({ memoryMb }) => memoryMb),
      storageGi: usages.map(({ storageGi }) => storageGi),
      gpus: usages.map(({ gpus = 0 }) => gpus),
    });
  }
}

const NOTHING: TenantUsage = { deployments: 0, beingDeleted: 0, cpuM: 0, memoryMb: 0, storageGi: 0 };

/**
 * @param counted a row of the sums, of which only the usage is read. It includes the hosts and schedules of all deployments, because
 * the database counts them.
 */
function plus(counted: TenantUsage, more: readonly QuotaUsage[]): TenantUsage {
  const { deployments, beingDeleted, keptGi = 0, domains = 0, schedules = 0 } = counted;
  const all: readonly QuotaUsage[] = [counted, ...more];
  const total = (amount: (usage: QuotaUsage) => number) => all.reduce((sum, each) => sum + amount(each), 0);
  const gpus = total((each) => each.gpus ?? 0);
  return {
    deployments,
    beingDeleted,
    cpuM: total(({ cpuM }) => cpuM),
    memoryMb: total(({ memoryMb }) => memoryMb),
    storageGi: total(({ storageGi }) => storageGi),
    ...(gpus === 0 ? {} : { gpus }),
    ...(keptGi === 0 ? {} : { keptGi }),
    ...(domains === 0 ? {} : { domains }),
    ...(schedules === 0 ? {} : { schedules }),
  };
}

/** The usage of one deployment (null: no deployment), and of all other deployments of the tenant. */
export interface SharedUsage {
  readonly own: TenantUsage;
  readonly others: TenantUsage;
}

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
  const own = and(eq(deployments.tenantId, tenantId), eq(deployments.id, deploymentId));
  const [row] = await shares(transaction, own);
  // The measurement decrypts the secrets, so it is done only if no usage is stored.
  return row === undefined ? 0 : (row.storedGi ?? measure(toUnmeasured(tenantId, row)).storageGi);
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
    const rows = await transaction.run(sumUsageStatement, {
      tenantId,
      deploymentId: deploymentId ?? NIL_UUID,
    });
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
