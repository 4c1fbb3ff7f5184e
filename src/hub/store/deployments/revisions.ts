import type { RevisionBuild } from '../../../domain/builds/build.ts';
import type { Revision, SourceRevisionConfig } from '../../../domain/deployment/deployment.ts';
import { type RevisionStatus, TERMINAL_STATUSES } from '../../../domain/revision/states.ts';
import type { Reader } from '../core/database.ts';
import type { Page, SealedSecrets } from '../core/records.ts';
import { REVISION_STATUS } from './status.ts';

/**
 * A revision with its encrypted secrets (null: no secrets). The status is derived, and is UNKNOWN while the listener is
 * not connected.
 */
export interface RevisionRecord extends Revision {
  tenantId: string;
  /** Id of the secrets, to create another revision with the same secrets. */
  secretsId: string | null;
  secrets: SealedSecrets | null;
  /** The observed state of the build of the revision; null: no build exists, or no state was observed yet. */
  build: RevisionBuild | null;
}

interface RevisionRow {
  id: string;
  tenant_id: string;
  deployment_id: string;
  number: number;
  status: RevisionStatus;
  reason: string | null;
  message: string | null;
  source_revision_config: SourceRevisionConfig;
  resolved_image: string | null;
  build: RevisionBuild | null;
  created_at: Date;
  updated_at: Date;
  deployed_at: Date | null;
  secrets_id: string | null;
  key_id: string | null;
  sealed: Buffer | null;
}

const SELECT = `
SELECT r.id, r.tenant_id, r.deployment_id, r.number, ${REVISION_STATUS} AS status, r.reason, r.message,
  r.source_revision_config, r.resolved_image, r.build, r.created_at, r.updated_at, r.deployed_at,
  r.secrets_id, s.key_id, s.sealed
FROM revisions r
  JOIN deployments d ON d.id = r.deployment_id
  JOIN listeners l ON l.id = d.listener_id
  LEFT JOIN secret_sets s ON s.id = r.secrets_id
WHERE r.tenant_id = $1 AND r.deployment_id = $2`;

function toRecord(row: RevisionRow): RevisionRecord {
  const {
    secrets_id: secretsId,
    key_id: keyId,
    sealed,
    tenant_id: tenantId,
    deployment_id: deploymentId,
  } = row;
  return {
    id: row.id,
    tenantId,
    deploymentId,
    number: row.number,
    status: row.status,
    reason: row.reason,
    message: row.message,
    sourceRevisionConfig: row.source_revision_config,
    resolvedImage: row.resolved_image,
    build: row.build,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    deployedAt: row.deployed_at,
    secretsId,
    secrets:
      secretsId === null || keyId === null || sealed === null
        ? null
        : { id: secretsId, tenantId, deploymentId, keyId, sealed },
  };
}

/** One revision of a deployment; null when the deployment has no revision with this id. */
export async function findRevision(
  reader: Reader,
  tenantId: string,
  deploymentId: string,
  revisionId: string,
): Promise<RevisionRecord | null> {
  const [row] = await reader.query<RevisionRow>(`${SELECT} AND r.id = $3`, [
    tenantId,
    deploymentId,
    revisionId,
  ]);
  return row === undefined ? null : toRecord(row);
}

export interface RevisionFilter {
  /** Statuses, one of which must match. */
  statuses?: readonly RevisionStatus[];
  /** true: only revisions with a final status; false: only revisions without. */
  remoteReconciled?: boolean;
}

/** Revisions of a deployment, newest first. */
export async function listRevisions(
  reader: Reader,
  tenantId: string,
  deploymentId: string,
  filter: RevisionFilter,
  page: Page,
): Promise<RevisionRecord[]> {
  const values: unknown[] = [tenantId, deploymentId, page.limit, page.offset];
  let conditions = '';
  if (filter.statuses !== undefined) {
    values.push(filter.statuses);
    conditions += ` AND ${REVISION_STATUS} = ANY($${values.length}::text[])`;
  }
  if (filter.remoteReconciled !== undefined) {
    values.push(TERMINAL_STATUSES);
    conditions += ` AND (r.status = ANY($${values.length}::text[])) = ${filter.remoteReconciled}`;
  }
  const rows = await reader.query<RevisionRow>(
    `${SELECT}${conditions} ORDER BY r.number DESC LIMIT $3 OFFSET $4`,
    values,
  );
  return rows.map(toRecord);
}
