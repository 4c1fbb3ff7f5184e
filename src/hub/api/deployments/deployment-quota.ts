import type { BodyIssue } from '../../../domain/core/body-issue.ts';
import type { Secret, SourceConfig, SourceRevisionConfig } from '../../../domain/deployment/deployment.ts';
import {
  type Demand,
  demandOf,
  type QuotaUsage,
  quotaIssues,
  type TenantUsage,
  usageOf,
} from '../../../domain/policy/quota-usage.ts';
import { withCommandComponents } from '../../../domain/run-settings/command-components.ts';
import { namesOf, servicesNotRun } from '../../../domain/run-settings/revision-content.ts';
import type { Transaction } from '../../store/core/database.ts';
import type { DeploymentRecord } from '../../store/core/records.ts';
import {
  lockQuotas,
  readUsage,
  readVolumeGi,
  type Unmeasured,
  withRunningProcfiles,
} from '../../store/deployments/quotas.ts';
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
  readonly sourceRevisionConfig: SourceRevisionConfig;
  /** Names of the secrets. With env, the names determine which data services are external. */
  readonly secretNames: readonly string[];
}

type QuotaDeps = Pick<ApiDeps, 'policy' | 'secretBox'>;

/** The settings of the revision, with the Procfile that runs until the revision is built. */
async function runningSettings(
  transaction: Transaction,
  tenantId: string,
  { deploymentId, sourceRevisionConfig }: Pick<QuotaRequest, 'deploymentId' | 'sourceRevisionConfig'>,
): Promise<SourceRevisionConfig> {
  if (deploymentId === null) return sourceRevisionConfig;
  const row = { id: deploymentId, sourceRevisionConfig };
  const [running = row] = await withRunningProcfiles(transaction, tenantId, [row]);
  return running.sourceRevisionConfig;
}

/**
 * The demand, including an existing volume of a database that Berth no longer runs. A volume that is being removed counts with
 * its reported size (sum-usage.ts), until it is gone.
 */
async function demand(
  deps: QuotaDeps,
  transaction: Transaction,
  tenantId: string,
  { deploymentId, sourceConfig: asked, sourceRevisionConfig, secretNames }: QuotaRequest,
): Promise<Demand> {
  const notRun = servicesNotRun(asked, secretNames, sourceRevisionConfig);
  const settings = await runningSettings(transaction, tenantId, { deploymentId, sourceRevisionConfig });
  const sourceConfig = withCommandComponents(asked, settings);
  const keepsVolume = notRun.database && asked.database?.remove_volume !== true;
  if (!keepsVolume || deploymentId === null) return demandOf(sourceConfig, notRun);
  const keptVolumeGi = await readVolumeGi(transaction, tenantId, deploymentId, measurer(deps));
  return demandOf(sourceConfig, { ...notRun, keptVolumeGi });
}

/**
 * The volume that a deployment keeps while Berth does not run its database, in GiB. 0: the deployment keeps no volume; null:
 * the database is in the cluster. If Berth does not run the database, the size in the stored source_config applies to no
 * volume.
 */
export async function keptVolumeOf(
  deps: Pick<ApiDeps, 'secretBox'>,
  transaction: Transaction,
  {
    tenantId,
    id,
    sourceConfig,
    sourceRevisionConfig,
  }: Pick<DeploymentRecord, 'tenantId' | 'id' | 'sourceConfig' | 'sourceRevisionConfig'>,
  stored: readonly Secret[],
): Promise<number | null> {
  if (!servicesNotRun(sourceConfig, namesOf(stored), sourceRevisionConfig).database) return null;
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
function secretNamesOf(box: SecretBox, deployment: Unmeasured): string[] {
  return namesOf(readableSecrets(box, deployment) ?? []);
}

const measurer =
  ({ secretBox }: Pick<ApiDeps, 'secretBox'>) =>
  (deployment: Unmeasured): QuotaUsage => {
    const { sourceConfig, sourceRevisionConfig } = deployment;
    const notRun = servicesNotRun(sourceConfig, secretNamesOf(secretBox, deployment), sourceRevisionConfig);
    return usageOf(demandOf(withCommandComponents(sourceConfig, sourceRevisionConfig), notRun));
  };

/** The usage of a deployment, and why it exceeds the quotas of its tenant, which are locked until the transaction ends. */
export async function quotaProblems(
  deps: QuotaDeps,
  transaction: Transaction,
  tenantId: string,
  asked: QuotaRequest,
): Promise<{ readonly usage: QuotaUsage; readonly issues: BodyIssue[] }> {
  const wanted = await demand(deps, transaction, tenantId, asked);
  const usage = usageOf(wanted);
  const quotas = await lockQuotas(transaction, tenantId, deps.policy.tenant_quotas);
  if (quotas === null) return { usage, issues: [] };
  const { own, others } = await readUsage(transaction, tenantId, asked.deploymentId, measurer(deps));
  return { usage, issues: quotaIssues({ quotas, others, before: own, demand: wanted }) };
}

/**
 * Checks a deployment that is created, changed or restored against the quotas of its tenant. Must be called before the
 * deployment is written, in the same transaction, with its row locked if it exists.
 * @returns the usage, to be stored with it
 * @throws ApiError 400 with the calculation
 */
export async function checkQuota(...request: Parameters<typeof quotaProblems>): Promise<QuotaUsage> {
  const { usage, issues } = await quotaProblems(...request);
  if (issues.length > 0) throw brokenRules(issues);
  return usage;
}

/** The current usage of a tenant. */
export async function tenantUsage(
  deps: Pick<ApiDeps, 'secretBox'>,
  transaction: Transaction,
  tenantId: string,
): Promise<TenantUsage> {
  return (await readUsage(transaction, tenantId, null, measurer(deps))).others;
}
