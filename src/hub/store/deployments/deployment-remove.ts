import { uuidv7 } from '../../../domain/core/id.ts';
import type { Transaction } from '../core/database.ts';
import { alias, and, eq, isNotNull, sql } from '../core/drizzle.ts';
import { type Actor, actorColumns, appendEvents } from '../core/events.ts';
import { deployments } from '../core/schema.ts';
import { NEVER_HANDED_OUT } from '../listeners/requeue-work.ts';
import { forgetKeptWorkloadsStatement } from '../sql/deployments/forget-kept-workloads.ts';
import { removeDeploymentStatement } from '../sql/deployments/remove-deployment.ts';
import { deleteUnusedTracingProject } from '../tenancy/tracing-projects.ts';
import { requestDeletion } from './deployment-delete.ts';
import { freeKeptHosts } from './host-reservations.ts';

/** The second part of a deletion, which removes the record and leaves a tombstone. */

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
  ending: Ending,
): Promise<boolean> {
  const [removed] = await transaction.run(removeDeploymentStatement, {
    ...ending,
    ...actorColumns(actor),
    tenantId,
    deploymentId,
    eventId: uuidv7(),
    keptMessage: LEFT,
  });
  if (removed === undefined) return false;
  if (removed.deleteTracingProject) {
    await deleteUnusedTracingProject(transaction, tenantId, removed.tracingProjectId, actor);
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

const REMOVED_AT_ONCE = 50;

/**
 * Completes the deletions of deployments that were never handed out, after their grace period. A listener that never
 * connects cannot confirm that the objects of a deployment were removed. If an object of a removed deployment is found
 * later, the tombstone of the deployment becomes purge work. Platform scope.
 * @returns the number of completed deletions
 */
export async function removeNeverHandedOut(transaction: Transaction): Promise<number> {
  const d = alias(deployments, 'd');
  const rows = await transaction.drizzle
    .select({ id: d.id, tenantId: d.tenantId })
    .from(d)
    .where(
      and(
        isNotNull(d.deleteRequestedAt),
        sql`coalesce(${d.purgeAfter} <= now(), true)`,
        eq(d.acknowledgedGeneration, 0),
        sql.raw(NEVER_HANDED_OUT),
        eq(d.attempts, 0),
      ),
    )
    .orderBy(d.id)
    .limit(REMOVED_AT_ONCE)
    // A row that a hand-out in progress has locked is skipped.
    .for('update', { skipLocked: true });
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

async function forgetKept(
  transaction: Transaction,
  tenantId: string,
  deploymentId: string,
  actor: Actor,
): Promise<boolean> {
  const left = await transaction.run(forgetKeptWorkloadsStatement, { tenantId, deploymentId });
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
