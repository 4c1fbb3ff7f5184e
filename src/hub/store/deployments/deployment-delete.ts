import { uuidv7 } from '../../../domain/core/id.ts';
import type { Transaction } from '../core/database.ts';
import { type Actor, actorColumns, appendEvents } from '../core/events.ts';
import { WORK_CHANNEL } from './deployment-write.ts';
import { holdHosts } from './host-reservations.ts';
import { TOLD_STATUS } from './status.ts';

/**
 * The first half of a deletion: it is asked for. From then on the name is free; nothing but pods is removed from the
 * cluster before the grace is over, so that the deployment can be restored (deployment-restore.ts); then the purge is
 * due, by the time alone. deployment-remove.ts is the other half.
 *
 * Whether the tracing project goes too: deployments use one project when they have had the same name one after the other.
 * It goes with the record of the last of them, if that was asked for and nothing was said against it since. So each
 * deletion's word replaces what was said of those that are still on their way out; asked for again, it can only be
 * added; and one that lives, new or restored, keeps the project until its own deletion says otherwise.
 */

/**
 * The deletion can be taken back, or changed to one that keeps what runs. By the clock, not by the begin of this
 * transaction: while it waited for the row, the purge may have been handed out.
 */
export const WITHIN_GRACE = 'delete_requested_at IS NOT NULL AND purge_after > clock_timestamp()';

/** In the order of ids, as everybody who locks several. Those on their way out that share a tracing project are among them. */
const LOCK = `
SELECT id, generation, delete_requested_at IS NOT NULL AS deleting FROM deployments
WHERE tenant_id = $1 AND (id = ANY($2::uuid[]) OR delete_requested_at IS NOT NULL)
  AND tracing_project_id IN (SELECT tracing_project_id FROM deployments WHERE tenant_id = $1 AND id = ANY($2::uuid[]))
ORDER BY id FOR UPDATE`;

const REQUEST = `
WITH former AS (
  SELECT d.id AS former_id, ${TOLD_STATUS} AS former_status
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
    'Deletion of ' || d.name || ' was asked for.',
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
 * Of one that is in its grace: what is left of it stays, and there is nothing to wait for. Once the grace is over the purge
 * may be under way, and nobody can say what is left: these are told, unless they are kept already.
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

interface AskedAgain {
  id: string;
  name: string;
}

/** Who has changed a deletion that was asked for before, and how. */
function tellChanged(
  transaction: Transaction,
  tenantId: string,
  changed: readonly AskedAgain[],
  actor: Actor,
  details: { keep_workloads: true } | { delete_tracing_project: true },
): Promise<void> {
  const how = 'keep_workloads' in details ? 'what it runs is kept' : 'its tracing project goes too';
  return appendEvents(
    transaction,
    changed.map(({ id, name }) => ({
      tenantId,
      deploymentId: id,
      actor,
      reason: 'DeletionRequested',
      message: `Deletion of ${name} was asked for again: ${how}.`,
      details,
    })),
  );
}

export interface DeletionRequest {
  /** Delete the tracing project too, once nothing else uses it. */
  deleteTracingProject: boolean;
  /** Nothing but pods is removed from the cluster before this has passed, so that it can be restored. Seconds. */
  graceSeconds?: number;
  /** Only the custom resource goes from the cluster: what runs, and its data, stays there without Berth. At once. */
  keepWorkloads?: boolean;
  actor: Actor;
  /** Told the generation of each that is there, its row locked; it throws to keep all of them. */
  check?: (generation: number) => void;
}

/**
 * `already`: it was asked for before, and nothing changes but deleteTracingProject, once true; `too_late`: so it was, and
 * its workloads cannot be kept any more; `missing`: this tenant has none of this id.
 */
export type DeletionOutcome = 'requested' | 'already' | 'too_late' | 'missing';

/**
 * Asks for the deletion of deployments: of all of them or, when it fails, of none. The grace of one that was asked for
 * before stays as it is.
 * @param deploymentIds each once, also where only the case of letters differs
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
  if (requested.length > 0) await holdHosts(transaction, tenantId, requested);
  const already = of('already');
  if (keepWorkloads && already.length > 0) {
    const rows = await transaction.query<AskedAgain & { kept: boolean }>(KEEP, [tenantId, already]);
    const [kept, purged] = [rows.filter((row) => row.kept), rows.filter((row) => !row.kept)];
    await tellChanged(transaction, tenantId, kept, request.actor, { keep_workloads: true });
    const lost = new Set(purged.map(({ id }) => id));
    for (const id of already) if (lost.has(id.toLowerCase())) outcomes.set(id, 'too_late');
  }
  if (deleteTracingProject && already.length > 0) {
    const rows = await transaction.query<AskedAgain>(REPEAT, [tenantId, already]);
    const asked = new Set(already.map((id) => id.toLowerCase()));
    const changed = rows.filter(({ id }) => asked.has(id));
    await tellChanged(transaction, tenantId, changed, request.actor, { delete_tracing_project: true });
  }
  return outcomes;
}

/** As `requestDeletions`, of one. */
export async function requestDeletion(
  transaction: Transaction,
  tenantId: string,
  deploymentId: string,
  request: DeletionRequest,
): Promise<DeletionOutcome> {
  const outcomes = await requestDeletions(transaction, tenantId, [deploymentId], request);
  return outcomes.get(deploymentId) ?? 'missing';
}
