import type { Deployment, Revision } from '../../../domain/deployment/deployment.ts';
import type { TenantQuotas } from '../../../domain/policy/tenant-quotas.ts';
import type { SealedIntegration } from '../builds/integrations.ts';
import type { Transaction } from '../core/database.ts';
import type { SealedSecrets } from '../core/records.ts';
import { toDeploymentRecord } from '../deployments/deployment-row.ts';
import {
  ACTIVE,
  ACTIVE_SECRETS,
  BUILD,
  BUILD_SECRETS,
  INTEGRATION,
  type LoadedWork,
  loadWorkStatement,
  WANTED,
  WANTED_SECRETS,
} from '../sql/work/load-work.ts';

/** Reads the complete content of due work items from the store. */

/** A work item to apply the desired state of a deployment. */
export interface DueApply {
  kind: 'apply';
  deployment: Deployment;
  /** Number of times that the item was handed out since it was last applied. */
  attempts: number;
  /** Version of the item, which is incremented when the item is requeued without a new desired state. */
  version: number;
  /** The revision to run; null: no revision can run. */
  revision: Revision | null;
  secrets: SealedSecrets | null;
  /** The revision to build; null: no revision. */
  build: DueBuild | null;
  /** The active revision, if it differs from the desired revision. */
  active: { id: string; number: number; secrets: SealedSecrets | null } | null;
  tracingProject: string;
  /** The tenant's own quotas, which replace those of the policy. */
  tenantQuotas: Partial<TenantQuotas>;
  /**
   * Environments to remove, which may still exist. These environments belong to revisions before the last ten that are
   * neither desired nor active.
   */
  staleRevisions: number[];
  /** uid of the volume claim whose removal has begun; null: no removal has begun. */
  removingClaim: string | null;
}

/** The newest revision that is not built yet and that no newer revision supersedes. */
export interface DueBuild {
  revision: Revision;
  secrets: SealedSecrets | null;
  /** The integration for the repository of the revision; null: no integration. */
  integration: SealedIntegration | null;
}

/**
 * A work item to remove a deployment from its cluster, because it is being deleted, or because its objects were found
 * after its deletion.
 */
export interface DuePurge {
  kind: 'purge';
  deploymentId: string;
  tenantId: string;
  generation: number;
  appName: string;
  namespace: string;
  /** Numbers of all revisions that have an environment. */
  revisions: number[];
  /** Additional hosts, whose certificates are removed. */
  domains: readonly string[];
  /** Whether to remove only the custom resource. */
  keepWorkloads: boolean;
}

export type DueWork = DueApply | DuePurge;

function wantedOf(row: LoadedWork): Revision | null {
  const wanted = WANTED.of(row);
  if (wanted === null) return null;
  return { ...wanted, deploymentId: row.id, updatedAt: wanted.createdAt, deployedAt: null };
}

function buildOf(row: LoadedWork): DueBuild | null {
  const build = BUILD.of(row);
  if (build === null) return null;
  const revision: Revision = {
    ...build,
    deploymentId: row.id,
    reason: null,
    message: null,
    resolvedImage: null,
    updatedAt: build.createdAt,
    deployedAt: null,
  };
  return { revision, secrets: BUILD_SECRETS.of(row), integration: INTEGRATION.of(row) };
}

function activeOf(row: LoadedWork): DueApply['active'] {
  const active = ACTIVE.of(row);
  return active && { ...active, secrets: ACTIVE_SECRETS.of(row) };
}

function toDueWork(row: LoadedWork): DueWork {
  if (row.purging) {
    const { id: deploymentId, tenantId, generation, appName, namespace, keepWorkloads } = row;
    const { revisionNumbers: revisions, sourceConfig } = row;
    return {
      kind: 'purge',
      deploymentId,
      tenantId,
      generation,
      appName,
      namespace,
      revisions,
      domains: sourceConfig.domains ?? [],
      keepWorkloads,
    };
  }
  return {
    kind: 'apply',
    deployment: toDeploymentRecord(row),
    attempts: row.attempts,
    version: row.workVersion,
    revision: wantedOf(row),
    secrets: WANTED_SECRETS.of(row),
    build: buildOf(row),
    active: activeOf(row),
    tracingProject: row.tracingProject,
    tenantQuotas: row.tenantQuotas,
    staleRevisions: row.revisionNumbers,
    removingClaim: row.removingClaim,
  };
}

/** The due items of these deployments, in the given order. */
export async function loadWork(
  transaction: Transaction,
  deploymentIds: readonly string[],
): Promise<DueWork[]> {
  if (deploymentIds.length === 0) return [];
  const rows = await transaction.run(loadWorkStatement, { deploymentIds });
  return rows.map(toDueWork);
}
