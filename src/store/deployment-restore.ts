import type { Transaction } from './database.ts';
import { findDeployment } from './deployment-find.ts';
import { WORK_CHANNEL } from './deployment-write.ts';
import { type Actor, appendEvents } from './events.ts';
import type { DeploymentRecord } from './records.ts';
import { TOLD_STATUS } from './status.ts';

/** By the clock, not by the begin of this transaction: while it waited for the row, the purge may have been handed out. */
const WITHIN_GRACE = 'delete_requested_at IS NOT NULL AND purge_after > clock_timestamp()';

const RESTORE = `
UPDATE deployments d SET delete_requested_at = NULL, purge_after = NULL, delete_tracing_project = false,
  generation = generation + 1, next_attempt_at = now(), attempts = 0, updated_at = now()
WHERE id = $2 AND tenant_id = $1 AND ${WITHIN_GRACE}
RETURNING name, (SELECT ${TOLD_STATUS} FROM listeners l WHERE l.id = d.listener_id) AS told_status,
  pg_notify('${WORK_CHANNEL}', listener_id::text)`;

/** Whether the deletion of a deployment can still be taken back. The caller has locked its row. */
export async function isRestorable(
  transaction: Transaction,
  tenantId: string,
  deploymentId: string,
): Promise<boolean> {
  const found = await transaction.query(
    `SELECT 1 FROM deployments WHERE id = $2 AND tenant_id = $1 AND ${WITHIN_GRACE}`,
    [tenantId, deploymentId],
  );
  return found.length > 0;
}

/**
 * Takes a deletion back within its grace: the deployment is wanted as it was. The caller has locked its row.
 * @returns null when the grace is over, or nobody asked for its deletion
 * @throws UniqueViolation `deployments_name`, `deployments_route_host`: another deployment has taken it meanwhile
 */
export async function restoreDeployment(
  transaction: Transaction,
  tenantId: string,
  deploymentId: string,
  actor: Actor,
): Promise<DeploymentRecord | null> {
  const [restored] = await transaction.query<{ name: string; told_status: string }>(RESTORE, [
    tenantId,
    deploymentId,
  ]);
  if (restored === undefined) return null;
  const message = `The deletion of ${restored.name} was taken back.`;
  const details = { from: 'AWAITING_DELETE', to: restored.told_status };
  await appendEvents(transaction, [{ tenantId, deploymentId, actor, reason: 'Restored', message, details }]);
  return findDeployment(transaction, tenantId, deploymentId);
}
