import { uuidv7 } from '../../../domain/core/id.ts';
import type { Transaction } from '../core/database.ts';
import { type Actor, actorColumns, appendEvents } from '../core/events.ts';
import { PURGED_ENVIRONMENTS } from '../sql/fragments/desired-revision.ts';
import { NEVER_HANDED_OUT } from '../listeners/requeue-work.ts';
import { deleteUnusedTracingProject } from '../tenancy/tracing-projects.ts';
import { requestDeletion } from './deployment-delete.ts';
import { WORK_CHANNEL } from './deployment-write.ts';
import { freeKeptHosts, KEEP_HOSTS, KEPT_AGAIN } from './host-reservations.ts';

/** The second part of a deletion, which removes the record and leaves a tombstone. */

const REMOVE = `
WITH d AS (
  DELETE FROM deployments WHERE id = $2 AND tenant_id = $1 AND delete_requested_at IS NOT NULL
  RETURNING id, tenant_id, listener_id, name, app_name, namespace, generation, tracing_project_id, delete_tracing_project,
    keep_workloads, keep_workloads AND $11::boolean AS stays
), tombstone AS (
  INSERT INTO tombstones (id, tenant_id, listener_id, name, app_name, namespace, generation, env_revisions, due, keep_workloads, kept_workloads)
  SELECT id, tenant_id, listener_id, name, app_name, namespace, generation,
    ARRAY(${PURGED_ENVIRONMENTS}),
    $9::boolean, keep_workloads, stays
  FROM d
), cleaning AS (
  INSERT INTO repository_cleanings (deployment_id, tenant_id, app_name, whole)
  SELECT id, tenant_id, app_name, true FROM d WHERE NOT stays
  ON CONFLICT (deployment_id) DO UPDATE SET whole = true, attempts = repository_cleanings.attempts + 1, next_attempt_at = now()
), kept AS (${KEEP_HOSTS}
  WHERE d.stays ${KEPT_AGAIN} RETURNING host
), event AS (
  INSERT INTO events (id, tenant_id, deployment_id, actor_kind, actor_id, actor_name, reason, message, details)
  SELECT $3::uuid, tenant_id, id, $4::text, $5::uuid, $6::text, $7::text,
    format(CASE WHEN stays THEN $10::text ELSE $8::text END, name),
    '{"from": "AWAITING_DELETE", "to": null}' || coalesce((SELECT jsonb_build_object('kept_hosts', jsonb_agg(host)) FROM kept HAVING count(*) > 0), '{}')
  FROM d
)
SELECT tracing_project_id, delete_tracing_project,
  CASE WHEN $9::boolean THEN pg_notify('${WORK_CHANNEL}', listener_id::text) END
FROM d`;

/** Why a record is removed. */
interface Ending {
  readonly reason: 'Deleted' | 'Forgotten';
  /** Message of the event. `%s` is the name of the deployment. */
  readonly message: string;
  /**
   * Whether objects may be left in the cluster. The tombstone is then purge work for the listener, in case it returns.
   */
  readonly due: boolean;
  /** Whether workloads may have run. The workloads are kept if the request asked for it. */
  readonly ran: boolean;
}

const CLEAN: Ending = {
  reason: 'Deleted',
  message: 'No object of %s remains in the cluster.',
  due: false,
  ran: true,
};
/** The end of deployments that were deleted with keep_workloads, used instead of CLEAN. */
const LEFT =
  'Berth no longer manages %s. The workloads of the deployment remain in the cluster. Hosts that are still routed ' +
  'there remain ' +
  'reserved until a deletion with force frees them.';
const NEVER_THERE: Ending = {
  reason: 'Deleted',
  message: '%s is removed. No listener ever received this deployment.',
  due: false,
  ran: false,
};
const FORGOTTEN: Ending = {
  reason: 'Forgotten',
  message:
    '%s was removed without confirmation from its cluster; its objects there are removed when the listener returns.',
  due: true,
  ran: true,
};

async function remove(
  transaction: Transaction,
  tenantId: string,
  deploymentId: string,
  actor: Actor,
  { reason, message, due, ran }: Ending,
): Promise<boolean> {
  const { actorKind, actorId, actorName } = actorColumns(actor);
  const [removed] = await transaction.query<{ tracing_project_id: string; delete_tracing_project: boolean }>(
    REMOVE,
    [tenantId, deploymentId, uuidv7(), actorKind, actorId, actorName, reason, message, due, LEFT, ran],
  );
  if (removed === undefined) return false;
  if (removed.delete_tracing_project) {
    await deleteUnusedTracingProject(transaction, tenantId, removed.tracing_project_id, actor);
  }
  return true;
}

/**
 * Removes the record of a deployment that has no more objects in its cluster, and leaves a tombstone and its events.
 * Revisions and secrets are also removed. The tracing project is removed if this was requested and no other deployment
 * uses it.
 * @returns false when no deployment with this id was being deleted
 */
export function removeRecord(
  transaction: Transaction,
  tenantId: string,
  deploymentId: string,
  actor: Actor,
): Promise<boolean> {
  return remove(transaction, tenantId, deploymentId, actor, CLEAN);
}

/** A row that a hand-out in progress has locked is skipped. */
const NEVER_STARTED = `
SELECT d.id, d.tenant_id AS "tenantId" FROM deployments d
WHERE d.delete_requested_at IS NOT NULL AND coalesce(d.purge_after <= now(), true) AND d.acknowledged_generation = 0
  AND ${NEVER_HANDED_OUT} AND d.attempts = 0
ORDER BY d.id LIMIT 50 FOR UPDATE SKIP LOCKED`;

/**
 * Completes the deletions of deployments that were never handed out, after their grace period. A listener that never
 * connects cannot confirm that the objects of a deployment were removed. If an object of a removed deployment is found
 * later, the tombstone of the deployment becomes purge work. Platform scope.
 * @returns the number of completed deletions
 */
export async function removeNeverHandedOut(transaction: Transaction): Promise<number> {
  const rows = await transaction.query<{ id: string; tenantId: string }>(NEVER_STARTED);
  for (const { id, tenantId } of rows)
    await remove(transaction, tenantId, id, { kind: 'system' }, NEVER_THERE);
  return rows.length;
}

/**
 * Removes the record of a deployment without confirmation of its cluster, which may no longer exist. A running grace
 * period is skipped. The tombstone is purge work, so that a listener that returns removes the remaining objects. For a
 * deployment that was deleted with keep_workloads, only the kept hosts and images are released.
 * @returns false when the tenant has no deployment with this id
 */
export async function forgetDeployment(
  transaction: Transaction,
  tenantId: string,
  deploymentId: string,
  request: { deleteTracingProject: boolean; actor: Actor },
): Promise<boolean> {
  const outcome = await requestDeletion(transaction, tenantId, deploymentId, request);
  if (outcome === 'missing') return forgetKept(transaction, tenantId, deploymentId, request.actor);
  return remove(transaction, tenantId, deploymentId, request.actor, FORGOTTEN);
}

/**
 * The images of the deployment are removed from the platform's registry, because no cluster may pull them any more.
 * Running workloads are not changed.
 */
const FORGET_KEPT = `
WITH t AS (
  UPDATE tombstones SET kept_workloads = false, purged_at = now()
  WHERE tenant_id = $1 AND id = $2 AND kept_workloads RETURNING id, tenant_id, app_name
), cleaning AS (
  INSERT INTO repository_cleanings (deployment_id, tenant_id, app_name, whole) SELECT id, tenant_id, app_name, true FROM t
  ON CONFLICT (deployment_id) DO UPDATE SET whole = true, attempts = repository_cleanings.attempts + 1, next_attempt_at = now()
)
SELECT id FROM t`;

async function forgetKept(
  transaction: Transaction,
  tenantId: string,
  deploymentId: string,
  actor: Actor,
): Promise<boolean> {
  const left = await transaction.query(FORGET_KEPT, [tenantId, deploymentId]);
  const hosts = await freeKeptHosts(transaction, tenantId, deploymentId);
  if (left.length === 0 && hosts.length === 0) return false;
  const freed =
    hosts.length === 0 ? '' : ` Hosts that are now available to other deployments: ${hosts.join(', ')}.`;
  const message = `The kept hosts of the deployment and its images in the platform's registry are released.${freed}`;
  await appendEvents(transaction, [
    { tenantId, deploymentId, actor, reason: 'Forgotten', message, details: { freed_hosts: hosts } },
  ]);
  return true;
}
