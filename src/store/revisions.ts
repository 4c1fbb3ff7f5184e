import type { Reason } from '../domain/conditions.ts';
import type { Revision, SourceRevisionConfig } from '../domain/deployment.ts';
import { uuidv7 } from '../domain/id.ts';
import { canMove, isTerminal, REVISION_STATUSES, type RevisionStatus } from '../domain/states.ts';
import type { Reader, Transaction } from './database.ts';
import { type Actor, actorColumns } from './events.ts';
import type { Page, SealedSecrets } from './records.ts';
import { REVISION_STATUS, TOLD_STATUS } from './status.ts';

/** A revision with its sealed secrets (null: none). Its status is derived: UNKNOWN while its listener is away. */
export interface RevisionRecord extends Revision {
  tenantId: string;
  /** To make another revision with the same secrets. */
  secretsId: string | null;
  secrets: SealedSecrets | null;
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
  created_at: Date;
  updated_at: Date;
  deployed_at: Date | null;
  secrets_id: string | null;
  key_id: string | null;
  sealed: Buffer | null;
}

const SELECT = `
SELECT r.id, r.tenant_id, r.deployment_id, r.number, ${REVISION_STATUS} AS status, r.reason, r.message,
  r.source_revision_config, r.resolved_image, r.created_at, r.updated_at, r.deployed_at,
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

/** One revision of a deployment; null when there is none of this id. */
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
  /** Any of these. */
  statuses?: readonly RevisionStatus[];
  /** True: the cluster has given its final word on the revision (a terminal state); false: not yet. */
  remoteReconciled?: boolean;
}

const TERMINAL = REVISION_STATUSES.filter(isTerminal);

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
    values.push(TERMINAL);
    conditions += ` AND (r.status = ANY($${values.length}::text[])) = ${filter.remoteReconciled}`;
  }
  const rows = await reader.query<RevisionRow>(
    `${SELECT}${conditions} ORDER BY r.number DESC LIMIT $3 OFFSET $4`,
    values,
  );
  return rows.map(toRecord);
}

/**
 * Compare-and-set on the status, the deployment's row locked first. Together with it: the event, deployed_at, the
 * deployment's active revision (never an older one than now) and whether anything is left that can run.
 */
const MOVE = `
WITH d AS (
  SELECT d.id, d.tenant_id, a.number AS active_number, ${TOLD_STATUS} AS former_status
  FROM deployments d JOIN listeners l ON l.id = d.listener_id LEFT JOIN revisions a ON a.id = d.active_revision_id
  WHERE d.id = $2 AND d.tenant_id = $1 FOR UPDATE OF d
), before AS (
  SELECT r.id, r.status, d.active_number, d.former_status FROM d JOIN revisions r ON r.deployment_id = d.id
  WHERE r.id = $3 FOR UPDATE OF r
), moved AS (
  UPDATE revisions r SET status = $4, reason = $5, message = $6, updated_at = now(),
    resolved_image = coalesce($7, r.resolved_image),
    deployed_at = CASE WHEN $4 = 'DEPLOYED' THEN now() ELSE r.deployed_at END
  FROM before WHERE r.id = before.id AND r.status = ANY($8::text[])
  RETURNING r.id, r.deployment_id, r.tenant_id, r.number, before.status AS from_status, before.active_number,
    before.former_status
), deployment AS (
  UPDATE deployments d SET updated_at = now(),
    active_revision_id = CASE WHEN $4 = 'DEPLOYED' THEN moved.id ELSE d.active_revision_id END,
    has_runnable_revision = $4 = 'DEPLOYED' OR EXISTS (
      SELECT 1 FROM revisions o WHERE o.deployment_id = d.id AND o.id <> moved.id
        AND o.status NOT IN ('BUILD_FAILED', 'CREATE_FAILED', 'SKIPPED'))
  FROM moved
  WHERE d.id = moved.deployment_id AND (
    ($4 = 'DEPLOYED' AND coalesce(moved.active_number, 0) < moved.number) OR $4 IN ('BUILD_FAILED', 'CREATE_FAILED'))
  RETURNING d.id, d.tenant_id, d.listener_id, d.recorded_status, d.observed_at, moved.former_status
), told AS (
  SELECT d.id, d.tenant_id, d.former_status, ${TOLD_STATUS} AS status
  FROM deployment d JOIN listeners l ON l.id = d.listener_id
), status_event AS (
  INSERT INTO events (id, tenant_id, deployment_id, actor_kind, actor_id, actor_name, reason, message, details)
  SELECT $13::uuid, tenant_id, id, $10::text, $11::uuid, $12::text, $5::text,
    'Status is ' || status || ', it was ' || former_status || '.',
    jsonb_build_object('from', former_status, 'to', status)
  FROM told WHERE status <> former_status
), event AS (
  INSERT INTO events (id, tenant_id, deployment_id, revision_id, actor_kind, actor_id, actor_name, reason, message, details)
  SELECT $9::uuid, tenant_id, deployment_id, id, $10::text, $11::uuid, $12::text, $5::text,
    'Revision ' || number || ' is ' || $4 || coalesce(': ' || $6, '.'),
    jsonb_build_object('from', from_status, 'to', $4::text)
  FROM moved
)
SELECT from_status FROM moved`;

export interface RevisionMove {
  to: RevisionStatus;
  reason: Reason;
  /** A sentence; null: the reason says it all. */
  message: string | null;
  /** Digest-pinned image, once known. */
  resolvedImage?: string;
  actor: Actor;
}

/**
 * Moves a revision to another state, if it is in one from which domain/states.ts lets it.
 * @returns the state it came from; null when it was not moved (terminal, already there, or no such revision)
 */
export async function moveRevision(
  transaction: Transaction,
  tenantId: string,
  deploymentId: string,
  revisionId: string,
  move: RevisionMove,
): Promise<RevisionStatus | null> {
  const from = REVISION_STATUSES.filter((status) => status !== move.to && canMove(status, move.to));
  const actor = actorColumns(move.actor);
  const [moved] = await transaction.query<{ from_status: RevisionStatus }>(MOVE, [
    tenantId,
    deploymentId,
    revisionId,
    move.to,
    move.reason,
    move.message,
    move.resolvedImage ?? null,
    from,
    uuidv7(),
    actor.actorKind,
    actor.actorId,
    actor.actorName,
    uuidv7(),
  ]);
  return moved?.from_status ?? null;
}
