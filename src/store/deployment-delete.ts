import { uuidv7 } from '../domain/id.ts';
import type { Transaction } from './database.ts';
import { WORK_CHANNEL } from './deployment-write.ts';
import { type Actor, actorColumns } from './events.ts';

const REQUEST = `
WITH d AS (
  UPDATE deployments SET delete_requested_at = now(), delete_tracing_project = $3, generation = generation + 1,
    next_attempt_at = now() + make_interval(secs => $4::double precision), attempts = 0, updated_at = now()
  WHERE id = $2 AND tenant_id = $1 AND delete_requested_at IS NULL
  RETURNING id, tenant_id, listener_id, name
), event AS (
  INSERT INTO events (id, tenant_id, deployment_id, actor_kind, actor_id, actor_name, reason, message, details)
  SELECT $5::uuid, d.tenant_id, d.id, $6::text, $7::uuid, $8::text, 'DeletionRequested',
    'Deletion of ' || d.name || ' was asked for.', jsonb_build_object('delete_tracing_project', $3::boolean)
  FROM d
)
SELECT id, pg_notify('${WORK_CHANNEL}', listener_id::text) FROM d`;

/** What is asked for again can only add: the tracing project may go too, and stays asked for. */
const REPEAT = `
UPDATE deployments SET delete_tracing_project = delete_tracing_project OR $3
WHERE id = $2 AND tenant_id = $1 AND delete_requested_at IS NOT NULL RETURNING id`;

export interface DeletionRequest {
  /** Delete the tracing project too, once nothing else uses it. */
  deleteTracingProject: boolean;
  /** Nothing is removed from the cluster before this has passed, so that it can be restored. Seconds. */
  graceSeconds?: number;
  actor: Actor;
}

/**
 * Asks for the deletion of a deployment; its name is free at once, its record stays until the cluster is clean.
 * @returns `already` when it was asked for before (nothing changes but deleteTracingProject, once true), `missing` when this tenant has none of this id
 */
export async function requestDeletion(
  transaction: Transaction,
  tenantId: string,
  deploymentId: string,
  request: DeletionRequest,
): Promise<'requested' | 'already' | 'missing'> {
  const actor = actorColumns(request.actor);
  const changed = await transaction.query(REQUEST, [
    tenantId,
    deploymentId,
    request.deleteTracingProject,
    request.graceSeconds ?? 0,
    uuidv7(),
    actor.actorKind,
    actor.actorId,
    actor.actorName,
  ]);
  if (changed.length > 0) return 'requested';
  const known = await transaction.query(REPEAT, [tenantId, deploymentId, request.deleteTracingProject]);
  return known.length > 0 ? 'already' : 'missing';
}

const REMOVE = `
WITH d AS (
  DELETE FROM deployments WHERE id = $2 AND tenant_id = $1 AND delete_requested_at IS NOT NULL
  RETURNING id, tenant_id, listener_id, name, app_name, namespace, generation, tracing_project_id, delete_tracing_project
), tombstone AS (
  INSERT INTO tombstones (id, tenant_id, listener_id, name, app_name, namespace, generation)
  SELECT id, tenant_id, listener_id, name, app_name, namespace, generation FROM d
), event AS (
  INSERT INTO events (id, tenant_id, deployment_id, actor_kind, actor_id, actor_name, reason, message)
  SELECT $3::uuid, tenant_id, id, $4::text, $5::uuid, $6::text, 'Deleted',
    'Nothing of ' || name || ' is left in the cluster.'
  FROM d
)
SELECT tracing_project_id, delete_tracing_project FROM d`;

/**
 * Removes the record of a deployment whose cluster is clean: leaves a tombstone and its events. Revisions and secrets
 * go with it, the tracing project if that was asked for and no other deployment uses it.
 * @returns false when there was no such record with deletion asked for
 */
export async function removeRecord(
  transaction: Transaction,
  tenantId: string,
  deploymentId: string,
  actor: Actor,
): Promise<boolean> {
  const columns = actorColumns(actor);
  const [removed] = await transaction.query<{ tracing_project_id: string; delete_tracing_project: boolean }>(
    REMOVE,
    [tenantId, deploymentId, uuidv7(), columns.actorKind, columns.actorId, columns.actorName],
  );
  if (removed === undefined) return false;
  if (removed.delete_tracing_project) {
    // Locked in a statement of its own: the next one then sees a deployment that was linked meanwhile.
    const project = [tenantId, removed.tracing_project_id];
    await transaction.query(
      'SELECT 1 FROM tracing_projects WHERE id = $2 AND tenant_id = $1 FOR UPDATE',
      project,
    );
    await transaction.query(
      `DELETE FROM tracing_projects p WHERE p.id = $2 AND p.tenant_id = $1
         AND NOT EXISTS (SELECT 1 FROM deployments d WHERE d.tracing_project_id = p.id)`,
      project,
    );
  }
  return true;
}
