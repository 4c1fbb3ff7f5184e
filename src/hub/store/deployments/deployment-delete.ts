import { uuidv7 } from '../../../domain/core/id.ts';
import type { Transaction } from '../core/database.ts';
import { type Actor, actorColumns, appendEvents } from '../core/events.ts';
import { WORK_CHANNEL } from './deployment-write.ts';
import { reserveHosts } from './host-reservations.ts';
import { HISTORY_STATUS } from './status.ts';

/**
 * The first part of a deletion, which is the request. The name is then available. Within the grace period, only pods
 * are removed from the cluster, so that the deployment can be restored (deployment-restore.ts). When the grace period
 * ends, the purge is due. deployment-remove.ts is the second part. Successive deployments with the same name share a
 * tracing project. The project is deleted with the record of the last of these deployments, if the last request asked
 * for the deletion of the project. Therefore each deletion replaces the choice of the other deployments that are being
 * deleted. A repeated request can only add the deletion of the project. A new or restored deployment keeps the project
 * until its own deletion.
 */

/**
 * Whether the deletion can be cancelled, or changed to keep the workloads. The condition uses the clock instead of the
 * start of the transaction, because the purge may be handed out while the transaction waits for the row.
 */
export const WITHIN_GRACE = 'delete_requested_at IS NOT NULL AND purge_after > clock_timestamp()';

/**
 * The rows are locked in the order of their ids, as in all code that locks several deployments. The rows include
 * deployments that are being deleted and share a tracing project.
 */
const LOCK = `
SELECT id, generation, delete_requested_at IS NOT NULL AS deleting FROM deployments
WHERE tenant_id = $1 AND (id = ANY($2::uuid[]) OR delete_requested_at IS NOT NULL)
  AND tracing_project_id IN (SELECT tracing_project_id FROM deployments WHERE tenant_id = $1 AND id = ANY($2::uuid[]))
ORDER BY id FOR UPDATE`;

const REQUEST = `
WITH former AS (
  SELECT d.id AS former_id, ${HISTORY_STATUS} AS former_status
  FROM deployments d JOIN listeners l ON l.id = d.listener_id WHERE d.id = ANY($2::uuid[]) AND d.tenant_id = $1
), d AS (
  UPDATE deployments SET delete_requested_at = now(), delete_tracing_project = $4, generation = generation + 1,
    next_poll_at = NULL, keep_workloads = $9,
    purge_after = now() + make_interval(secs => $5::float8), next_attempt_at = now(), attempts = 0, updated_at = now()
  FROM former
  WHERE id = former_id AND tenant_id = $1 AND delete_requested_at IS NULL
  RETURNING id, tenant_id, listener_id, name, tracing_project_id, purge_after, former_status
), leaving AS (
  UPDATE deployments o SET delete_tracing_project = $4 FROM d
  WHERE o.tenant_id = $1 AND o.tracing_project_id = d.tracing_project_id AND o.delete_requested_at IS NOT NULL
), event AS (
  INSERT INTO events (id, tenant_id, deployment_id, actor_kind, actor_id, actor_name, reason, message, details)
  SELECT e.id, d.tenant_id, d.id, $6::text, $7::uuid, $8::text, 'DeletionRequested',
    'Deletion of ' || d.name || ' was requested.',
    jsonb_build_object('delete_tracing_project', $4::boolean, 'purge_after', d.purge_after,
      'keep_workloads', $9::boolean, 'from', d.former_status, 'to', 'AWAITING_DELETE')
  FROM d JOIN unnest($2::uuid[], $3::uuid[]) AS e(deployment_id, id) ON e.deployment_id = d.id
)
SELECT pg_notify('${WORK_CHANNEL}', listener_id::text) FROM d GROUP BY listener_id`;

const REPEAT = `
UPDATE deployments SET delete_tracing_project = true
WHERE tenant_id = $1 AND delete_requested_at IS NOT NULL AND NOT delete_tracing_project
  AND tracing_project_id IN (SELECT tracing_project_id FROM deployments WHERE tenant_id = $1 AND id = ANY($2::uuid[]))
RETURNING id, name`;

/**
 * Keeps the workloads of a deployment in its grace period, at once. After the grace period, the purge may be in
 * progress, so the request is rejected unless the workloads are already kept.
 */
const KEEP = `
WITH kept AS (
  UPDATE deployments SET keep_workloads = true, purge_after = now(), next_attempt_at = now()
  WHERE tenant_id = $1 AND id = ANY($2::uuid[]) AND ${WITHIN_GRACE} AND NOT keep_workloads
  RETURNING id, name
)
SELECT id, name, true AS kept FROM kept
UNION ALL
SELECT id, name, false FROM deployments WHERE tenant_id = $1 AND id = ANY($2::uuid[]) AND NOT keep_workloads
  AND id NOT IN (SELECT id FROM kept)`;

interface RepeatedDeletion {
  id: string;
  name: string;
}

/** Records who changed an earlier deletion request, and how. */
function recordRepeated(
  transaction: Transaction,
  tenantId: string,
  changed: readonly RepeatedDeletion[],
  actor: Actor,
  details: { keep_workloads: true } | { delete_tracing_project: true },
): Promise<void> {
  const how = 'keep_workloads' in details ? 'its workloads are kept' : 'its tracing project is deleted too';
  return appendEvents(
    transaction,
    changed.map(({ id, name }) => ({
      tenantId,
      deploymentId: id,
      actor,
      reason: 'DeletionRequested',
      message: `Deletion of ${name} was requested again: ${how}.`,
      details,
    })),
  );
}

export interface DeletionRequest {
  /** Whether to also delete the tracing project, when no other deployment uses it. */
  deleteTracingProject: boolean;
  /**
   * Grace period in seconds. Before the end of the grace period, only pods are removed, so that the deployment can be
   * restored.
   */
  graceSeconds?: number;
  /**
   * Whether only the custom resource is removed from the cluster, at once. The workloads and their data remain in the
   * cluster, and Berth no longer manages them.
   */
  keepWorkloads?: boolean;
  actor: Actor;
  /**
   * Called with the generation of each existing deployment, while its row is locked. If the function throws, nothing is
   * deleted.
   */
  check?: (generation: number) => void;
}

/**
 * `already`: the deletion was requested before, and only deleteTracingProject changes, if it is true. `too_late`: the
 * deletion was requested before, and the workloads can no longer be kept. `missing`: the tenant has no deployment with
 * this id.
 */
export type DeletionOutcome = 'requested' | 'already' | 'too_late' | 'missing';

/**
 * Requests the deletion of deployments. If one request fails, no deployment is deleted. The grace period of an earlier
 * request is unchanged.
 * @param deploymentIds ids without duplicates, compared without case
 */
export async function requestDeletions(
  transaction: Transaction,
  tenantId: string,
  deploymentIds: readonly string[],
  request: DeletionRequest,
): Promise<Map<string, DeletionOutcome>> {
  const rows = await transaction.query<{ id: string; generation: number; deleting: boolean }>(LOCK, [
    tenantId,
    deploymentIds,
  ]);
  const locked = new Map(rows.map((row) => [row.id, row]));
  const outcomes = new Map(
    deploymentIds.map((id): [string, DeletionOutcome] => {
      const row = locked.get(id.toLowerCase());
      if (row === undefined) return [id, 'missing'];
      request.check?.(row.generation);
      return [id, row.deleting ? 'already' : 'requested'];
    }),
  );
  const of = (wanted: DeletionOutcome) =>
    [...outcomes].flatMap(([id, outcome]) => (outcome === wanted ? [id] : []));
  const { deleteTracingProject, keepWorkloads = false } = request;
  const graceSeconds = keepWorkloads ? 0 : (request.graceSeconds ?? 0);
  const requested = of('requested');
  if (requested.length > 0) {
    const { actorKind, actorId, actorName } = actorColumns(request.actor);
    await transaction.query(REQUEST, [
      tenantId,
      requested,
      requested.map(() => uuidv7()),
      deleteTracingProject,
      graceSeconds,
      actorKind,
      actorId,
      actorName,
      keepWorkloads,
    ]);
  }
  if (requested.length > 0) await reserveHosts(transaction, tenantId, requested);
  const already = of('already');
  if (keepWorkloads && already.length > 0) {
    const rows = await transaction.query<RepeatedDeletion & { kept: boolean }>(KEEP, [tenantId, already]);
    const [kept, purged] = [rows.filter((row) => row.kept), rows.filter((row) => !row.kept)];
    await recordRepeated(transaction, tenantId, kept, request.actor, { keep_workloads: true });
    const lost = new Set(purged.map(({ id }) => id));
    for (const id of already) if (lost.has(id.toLowerCase())) outcomes.set(id, 'too_late');
  }
  if (deleteTracingProject && already.length > 0) {
    const rows = await transaction.query<RepeatedDeletion>(REPEAT, [tenantId, already]);
    const asked = new Set(already.map((id) => id.toLowerCase()));
    const changed = rows.filter(({ id }) => asked.has(id));
    await recordRepeated(transaction, tenantId, changed, request.actor, { delete_tracing_project: true });
  }
  return outcomes;
}

/** Requests the deletion of one deployment, like `requestDeletions`. */
export async function requestDeletion(
  transaction: Transaction,
  tenantId: string,
  deploymentId: string,
  request: DeletionRequest,
): Promise<DeletionOutcome> {
  const outcomes = await requestDeletions(transaction, tenantId, [deploymentId], request);
  return outcomes.get(deploymentId) ?? 'missing';
}
