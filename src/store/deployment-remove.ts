import { uuidv7 } from '../domain/id.ts';
import type { Transaction } from './database.ts';
import { requestDeletion } from './deployment-delete.ts';
import { WORK_CHANNEL } from './deployment-write.ts';
import { type Actor, actorColumns } from './events.ts';
import { deleteUnusedTracingProject } from './tracing-projects.ts';

/** The other half of a deletion: the record goes, a tombstone stays. */

const REMOVE = `
WITH d AS (
  DELETE FROM deployments WHERE id = $2 AND tenant_id = $1 AND delete_requested_at IS NOT NULL
  RETURNING id, tenant_id, listener_id, name, app_name, namespace, generation, tracing_project_id, delete_tracing_project
), tombstone AS (
  INSERT INTO tombstones (id, tenant_id, listener_id, name, app_name, namespace, generation, env_revisions, due)
  SELECT id, tenant_id, listener_id, name, app_name, namespace, generation,
    ARRAY(SELECT r.number FROM revisions r WHERE r.deployment_id = d.id AND r.secrets_id IS NOT NULL ORDER BY r.number),
    $9::boolean
  FROM d
), event AS (
  INSERT INTO events (id, tenant_id, deployment_id, actor_kind, actor_id, actor_name, reason, message, details)
  SELECT $3::uuid, tenant_id, id, $4::text, $5::uuid, $6::text, $7::text, format($8::text, name),
    '{"from": "AWAITING_DELETE", "to": null}'
  FROM d
)
SELECT tracing_project_id, delete_tracing_project,
  CASE WHEN $9::boolean THEN pg_notify('${WORK_CHANNEL}', listener_id::text) END
FROM d`;

/** Why a record goes. */
interface Ending {
  readonly reason: 'Deleted' | 'Forgotten';
  /** `%s` is the name. */
  readonly message: string;
  /** Something may be left in the cluster: purge work for its listener, should it come back. */
  readonly due: boolean;
}

const CLEAN: Ending = { reason: 'Deleted', message: 'Nothing of %s is left in the cluster.', due: false };
const FORGOTTEN: Ending = {
  reason: 'Forgotten',
  message:
    '%s was forgotten without a look at its cluster; what is left there goes when its listener comes back.',
  due: true,
};

async function remove(
  transaction: Transaction,
  tenantId: string,
  deploymentId: string,
  actor: Actor,
  { reason, message, due }: Ending,
): Promise<boolean> {
  const { actorKind, actorId, actorName } = actorColumns(actor);
  const [removed] = await transaction.query<{ tracing_project_id: string; delete_tracing_project: boolean }>(
    REMOVE,
    [tenantId, deploymentId, uuidv7(), actorKind, actorId, actorName, reason, message, due],
  );
  if (removed === undefined) return false;
  if (removed.delete_tracing_project) {
    await deleteUnusedTracingProject(transaction, tenantId, removed.tracing_project_id, actor);
  }
  return true;
}

/**
 * Removes the record of a deployment whose cluster is clean: leaves a tombstone and its events. Revisions and secrets
 * go with it, the tracing project if that was asked for and no other deployment uses it.
 * @returns false when there was no such record with deletion asked for
 */
export function removeRecord(
  transaction: Transaction,
  tenantId: string,
  deploymentId: string,
  actor: Actor,
): Promise<boolean> {
  return remove(transaction, tenantId, deploymentId, actor, CLEAN);
}

/**
 * Removes the record of a deployment whatever its cluster says: for one that does not exist any more. A running grace is
 * skipped. The tombstone is purge work, so that a listener that comes back after all cleans up.
 * @returns false when this tenant has none of this id
 */
export async function forgetDeployment(
  transaction: Transaction,
  tenantId: string,
  deploymentId: string,
  request: { deleteTracingProject: boolean; actor: Actor },
): Promise<boolean> {
  const outcome = await requestDeletion(transaction, tenantId, deploymentId, request);
  return outcome !== 'missing' && remove(transaction, tenantId, deploymentId, request.actor, FORGOTTEN);
}
