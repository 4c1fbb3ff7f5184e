import { EXTERNAL_CACHE_SECRET, EXTERNAL_DATABASE_SECRET } from '../../../contract/render/to-resource.ts';
import type { Secret, SourceConfig } from '../../../domain/deployment/deployment.ts';
import {
  type Demand,
  demandOf,
  type QuotaUsage,
  quotaIssues,
  type TenantUsage,
  usageOf,
} from '../../../domain/policy/quota-usage.ts';
import type { Transaction } from '../../store/core/database.ts';
import type { DeploymentRecord } from '../../store/core/records.ts';
import { lockQuotas, readUsage, readVolumeGi, type Unmeasured } from '../../store/deployments/quotas.ts';
import type { SecretBox } from '../../store/secrets/secret-box.ts';
import type { ApiDeps } from '../core/deps.ts';
import { brokenRules } from '../core/errors.ts';
import { readableSecrets } from './deployment-secrets.ts';

/** Checks deployments against the quotas of their tenant. */

/** The requested state of a deployment. */
export interface QuotaRequest {
  /** null: the deployment is new and not stored yet. */
  readonly deploymentId: string | null;
  readonly sourceConfig: SourceConfig;
  /** Names of the secrets. The names determine which data services are external. */
  readonly secretNames: readonly string[];
}

type QuotaDeps = Pick<ApiDeps, 'policy' | 'secretBox'>;

/** The external data services that secrets with these names configure. */
export const externalServices = (secretNames: readonly string[]) => ({
  database: secretNames.includes(EXTERNAL_DATABASE_SECRET),
  cache: secretNames.includes(EXTERNAL_CACHE_SECRET),
});

/**
 * Whether a change of secrets moves the database or the cache into the cluster or out of it. Then other rules and quotas apply
 * to the stored source_config.
 * @param before null: the stored secrets cannot be decrypted
 */
export function movesDataServices(before: readonly Secret[] | null, after: readonly Secret[]): boolean {
  if (before === null) return true;
  const [from, to] = [before, after].map((secrets) => externalServices(secrets.map(({ name }) => name)));
  return from?.database !== to?.database || from?.cache !== to?.cache;
}

/** The demand, including an existing volume if the database becomes external. */
async function demand(
  deps: QuotaDeps,
  transaction: Transaction,
  tenantId: string,
  { deploymentId, sourceConfig, secretNames }: QuotaRequest,
): Promise<Demand> {
  const external = externalServices(secretNames);
  if (!external.database || deploymentId === null) return demandOf(sourceConfig, external);
  const keptVolumeGi = await readVolumeGi(transaction, tenantId, deploymentId, measurer(deps));
  return demandOf(sourceConfig, { ...external, keptVolumeGi });
}

/**
 * The volume that a deployment keeps while its database is external, in GiB. 0: the deployment keeps no volume; null:
 * the database is in the cluster. If the database is external, the size in the stored source_config applies to no
 * volume.
 */
export async function keptVolumeOf(
  deps: Pick<ApiDeps, 'secretBox'>,
  transaction: Transaction,
  { tenantId, id }: Pick<DeploymentRecord, 'tenantId' | 'id'>,
  stored: readonly Secret[],
): Promise<number | null> {
  if (!externalServices(stored.map(({ name }) => name)).database) return null;
  return readVolumeGi(transaction, tenantId, id, measurer(deps));
}

/** The quota usage of a deployment, to be stored with it. Must be called before the deployment is written. */
export async function quotaUsage(
  deps: QuotaDeps,
  transaction: Transaction,
  tenantId: string,
  asked: QuotaRequest,
): Promise<QuotaUsage> {
  return usageOf(await demand(deps, transaction, tenantId, asked));
}

/** A deployment whose secrets cannot be decrypted counts as if both data services were in the cluster. */
function namesOf(box: SecretBox, deployment: Unmeasured): string[] {
  return (readableSecrets(box, deployment) ?? []).map(({ name }) => name);
}

const measurer =
  ({ secretBox }: Pick<ApiDeps, 'secretBox'>) =>
  (deployment: Unmeasured): QuotaUsage =>
    usageOf(demandOf(deployment.sourceConfig, externalServices(namesOf(secretBox, deployment))));

/**
 * Checks a deployment that is created, changed or restored against the quotas of its tenant. Must be called before the
 * deployment is written, in the same transaction, with its row locked if it exists.
 * @returns the usage, to be stored with it
 * @throws ApiError 400 with the calculation
 */
export async function checkQuota(
  deps: QuotaDeps,
  transaction: Transaction,
  tenantId: string,
  asked: QuotaRequest,
): Promise<QuotaUsage> {
  const wanted = await demand(deps, transaction, tenantId, asked);
  const quotas = await lockQuotas(transaction, tenantId, deps.policy.tenant_quotas);
  if (quotas !== null) {
    const { own, others } = await readUsage(transaction, tenantId, asked.deploymentId, measurer(deps));
    const issues = quotaIssues({ quotas, others, before: own, demand: wanted });
    if (issues.length > 0) throw brokenRules(issues);
  }
  return usageOf(wanted);
}

/** The current usage of a tenant. */
export async function tenantUsage(
  deps: Pick<ApiDeps, 'secretBox'>,
  transaction: Transaction,
  tenantId: string,
): Promise<TenantUsage> {
  return (await readUsage(transaction, tenantId, null, measurer(deps))).others;
}
