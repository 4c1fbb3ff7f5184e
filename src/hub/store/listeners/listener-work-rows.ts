import type { GitProvider } from '../../../domain/builds/git-host.ts';
import type { Deployment, Revision, SourceRevisionConfig } from '../../../domain/deployment/deployment.ts';
import type { TenantQuotas } from '../../../domain/policy/tenant-quotas.ts';
import type { RevisionStatus } from '../../../domain/revision/states.ts';
import type { SealedIntegration } from '../builds/integrations.ts';
import type { Transaction } from '../core/database.ts';
import type { SealedSecrets } from '../core/records.ts';
import { DEPLOYMENT_COLUMNS, type DeploymentRow, toDeploymentRecord } from '../deployments/deployment-row.ts';
import {
  DESIRED_REVISION,
  leavesEnvironment,
  PURGED_ENVIRONMENTS,
  STALE_AT_ONCE,
} from '../sql/fragments/desired-revision.ts';

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
  /** Whether to remove only the custom resource. */
  keepWorkloads: boolean;
}

export type DueWork = DueApply | DuePurge;

/** The revision that the cluster should build (aliases `d`, and `w` of the desired revision). */
const BUILD_REVISION = `(SELECT r.id FROM revisions r WHERE r.deployment_id = d.id AND d.source = 'git_host'
  AND d.delete_requested_at IS NULL AND r.status IN ('AWAITING_BUILD', 'BUILDING')
  AND r.number >= coalesce(w.number, 0) ORDER BY r.number DESC LIMIT 1)`;

/**
 * Whether the deployment (alias `d`) is being deleted and its grace period has ended. During the grace period, the
 * deployment is handed out unchanged and suspended.
 */
const PURGING = '(d.delete_requested_at IS NOT NULL AND coalesce(d.purge_after <= now(), true))';

/**
 * OFFSET 0 is needed because with row-level security, an index lookup works only for a value that is already computed,
 * not for the result of a subquery.
 */
const LOAD = `
SELECT ${DEPLOYMENT_COLUMNS}, d.attempts, d.work_version, ${PURGING} AS purging, d.keep_workloads, p.name AS tracing_project, t.quotas AS tenant_quotas,
  w.id AS w_id, w.number AS w_number, w.status AS w_status, w.reason AS w_reason, w.message AS w_message,
  w.source_revision_config AS w_config,
  w.resolved_image AS w_image, w.created_at AS w_created_at, w.secrets_id AS w_secrets_id,
  ws.key_id AS w_key_id, ws.sealed AS w_sealed,
  b.id AS b_id, b.number AS b_number, b.status AS b_status, b.source_revision_config AS b_config,
  b.created_at AS b_created_at, i.id AS i_id, i.provider AS i_provider, i.host_url AS i_host_url,
  i.key_id AS i_key_id, i.sealed AS i_sealed,
  b.secrets_id AS b_secrets_id, sb.key_id AS b_key_id, sb.sealed AS b_sealed,
  a.id AS a_id, a.number AS a_number, a.secrets_id AS a_secrets_id, sa.key_id AS a_key_id, sa.sealed AS a_sealed,
  CASE WHEN NOT ${PURGING} THEN
    ARRAY(SELECT r.number FROM revisions r WHERE ${leavesEnvironment('w.number')}
      ORDER BY r.number DESC LIMIT ${STALE_AT_ONCE})
  ELSE ARRAY(${PURGED_ENVIRONMENTS}) END AS revision_numbers
FROM unnest($1::uuid[]) WITH ORDINALITY AS due(id, turn)
  JOIN deployments d ON d.id = due.id AND d.id = ANY($1::uuid[])
  JOIN listeners l ON l.id = d.listener_id
  JOIN tenants t ON t.id = d.tenant_id
  JOIN tracing_projects p ON p.id = d.tracing_project_id
  LEFT JOIN secret_sets s ON false
  LEFT JOIN LATERAL (SELECT ${DESIRED_REVISION} AS id OFFSET 0) AS wanted ON true
  LEFT JOIN revisions w ON w.id = wanted.id
  LEFT JOIN secret_sets ws ON ws.id = w.secrets_id
  LEFT JOIN LATERAL (SELECT ${BUILD_REVISION} AS id OFFSET 0) AS building ON true
  LEFT JOIN revisions b ON b.id = building.id
  LEFT JOIN secret_sets sb ON sb.id = b.secrets_id
  LEFT JOIN integrations i ON b.id IS NOT NULL AND i.tenant_id = d.tenant_id
    AND i.id = (d.source_config ->> 'integration_id')::uuid
  LEFT JOIN revisions a ON a.id = d.active_revision_id AND a.id IS DISTINCT FROM w.id
  LEFT JOIN secret_sets sa ON sa.id = a.secrets_id
ORDER BY due.turn`;

interface LoadedRow extends DeploymentRow {
  attempts: number;
  work_version: number;
  purging: boolean;
  keep_workloads: boolean;
  tracing_project: string;
  tenant_quotas: Partial<TenantQuotas>;
  w_id: string | null;
  w_number: number;
  w_status: RevisionStatus;
  w_reason: string | null;
  w_message: string | null;
  w_config: SourceRevisionConfig;
  w_image: string | null;
  w_created_at: Date;
  w_secrets_id: string | null;
  w_key_id: string | null;
  w_sealed: Buffer | null;
  b_id: string | null;
  b_number: number;
  b_status: RevisionStatus;
  b_config: SourceRevisionConfig;
  b_created_at: Date;
  b_secrets_id: string | null;
  b_key_id: string | null;
  b_sealed: Buffer | null;
  i_id: string | null;
  i_provider: GitProvider;
  i_host_url: string;
  i_key_id: string;
  i_sealed: Buffer;
  a_id: string | null;
  a_number: number;
  a_secrets_id: string | null;
  a_key_id: string | null;
  a_sealed: Buffer | null;
  revision_numbers: number[];
}

function sealedOf(
  row: LoadedRow,
  id: string | null,
  keyId: string | null,
  sealed: Buffer | null,
): SealedSecrets | null {
  if (id === null || keyId === null || sealed === null) return null;
  return { id, tenantId: row.tenantId, deploymentId: row.id, keyId, sealed };
}

function wantedOf(row: LoadedRow): Revision | null {
  if (row.w_id === null) return null;
  return {
    id: row.w_id,
    deploymentId: row.id,
    number: row.w_number,
    status: row.w_status,
    reason: row.w_reason,
    message: row.w_message,
    sourceRevisionConfig: row.w_config,
    resolvedImage: row.w_image,
    createdAt: row.w_created_at,
    updatedAt: row.w_created_at,
    deployedAt: null,
  };
}

function buildOf(row: LoadedRow): DueBuild | null {
  if (row.b_id === null) return null;
  const integration =
    row.i_id === null
      ? null
      : {
          id: row.i_id,
          tenantId: row.tenantId,
          provider: row.i_provider,
          hostUrl: row.i_host_url,
          keyId: row.i_key_id,
          sealed: row.i_sealed,
        };
  const revision: Revision = {
    id: row.b_id,
    deploymentId: row.id,
    number: row.b_number,
    status: row.b_status,
    reason: null,
    message: null,
    sourceRevisionConfig: row.b_config,
    resolvedImage: null,
    createdAt: row.b_created_at,
    updatedAt: row.b_created_at,
    deployedAt: null,
  };
  const secrets = sealedOf(row, row.b_secrets_id, row.b_key_id, row.b_sealed);
  return { revision, secrets, integration };
}

function toDueWork(row: LoadedRow): DueWork {
  if (row.purging) {
    const { id: deploymentId, tenantId, generation, appName, namespace } = row;
    return {
      kind: 'purge',
      deploymentId,
      tenantId,
      generation,
      appName,
      namespace,
      revisions: row.revision_numbers,
      keepWorkloads: row.keep_workloads,
    };
  }
  return {
    kind: 'apply',
    deployment: toDeploymentRecord(row),
    attempts: row.attempts,
    version: row.work_version,
    revision: wantedOf(row),
    secrets: sealedOf(row, row.w_secrets_id, row.w_key_id, row.w_sealed),
    build: buildOf(row),
    active:
      row.a_id === null
        ? null
        : {
            id: row.a_id,
            number: row.a_number,
            secrets: sealedOf(row, row.a_secrets_id, row.a_key_id, row.a_sealed),
          },
    tracingProject: row.tracing_project,
    tenantQuotas: row.tenant_quotas,
    staleRevisions: row.revision_numbers,
  };
}

/** The due items of these deployments, in the given order. */
export async function loadWork(
  transaction: Transaction,
  deploymentIds: readonly string[],
): Promise<DueWork[]> {
  if (deploymentIds.length === 0) return [];
  const rows = await transaction.query<LoadedRow>(LOAD, [deploymentIds]);
  return rows.map(toDueWork);
}
