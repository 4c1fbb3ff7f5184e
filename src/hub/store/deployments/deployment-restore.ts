import type { Transaction } from '../core/database.ts';
import { UniqueViolation } from '../core/errors.ts';
import { type Actor, appendEvents } from '../core/events.ts';
import type { DeploymentRecord } from '../core/records.ts';
import { inSavepoint } from '../core/savepoint.ts';
import { nextPollSql } from '../sql/fragments/branch-polls.ts';
import { WITHIN_GRACE } from './deployment-delete.ts';
import { findDeployment } from './deployment-find.ts';
import { rejectOtherSpellings } from './deployment-name.ts';
import { WORK_CHANNEL } from './deployment-write.ts';
import { claimHost } from './host-reservations.ts';
import { HISTORY_STATUS } from './status.ts';

const RESTORE = `
UPDATE deployments d SET delete_requested_at = NULL, purge_after = NULL, delete_tracing_project = false,
  keep_workloads = false,
  generation = generation + 1, next_attempt_at = now(), attempts = 0, updated_at = now(),
  next_poll_at = ${nextPollSql('source', 'source_config')}
WHERE id = $2 AND tenant_id = $1 AND ${WITHIN_GRACE}
RETURNING name, route_host, (SELECT ${HISTORY_STATUS} FROM listeners l WHERE l.id = d.listener_id) AS told_status,
  pg_notify('${WORK_CHANNEL}', listener_id::text)`;

/** Text for the event if another deployment now has the host, which the restored deployment loses. */
const GIVE_UP_URL = `
UPDATE deployments SET route_host = NULL, source_config = source_config || '{"custom_url": null}'
WHERE id = $2 AND tenant_id = $1`;

/**
 * Time before the end of the grace period in which a restore does not wait for the host. A deployment that releases the
 * host is usually finished within a moment, so a restore usually waits for that deployment. Near the end of the grace
 * period, a disconnected listener, perhaps of another tenant, must not cause a loss of data.
 */
const MAY_WAIT = `
SELECT 1 FROM deployments WHERE id = $2 AND tenant_id = $1 AND purge_after > clock_timestamp() + interval '10 minutes'`;

/** Constraints whose violation shows that another deployment has the host. */
const HAS_HOST: ReadonlySet<string> = new Set(['deployments_route_host', 'kept_hosts_pkey']);

interface Restored {
  name: string;
  told_status: string;
  route_host: string | null;
}

/** Whether the deletion of a deployment can still be cancelled. The caller has locked the row of the deployment. */
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
 * Restores a deployment within the grace period, with its previous desired state. The caller has locked the row of the deployment. If
 * another deployment, perhaps of another tenant, now has the host of the custom_url, the deployment is restored without
 * custom_url.
 * @throws UniqueViolation `leaving_hosts_pkey`: another deployment is giving up the host, and there is time to wait
 * @returns null when the grace period has ended or the deployment is not being deleted
 * @throws UniqueViolation `deployments_name`: another deployment of the tenant has the name now
 */
export async function restoreDeployment(
  transaction: Transaction,
  tenantId: string,
  deploymentId: string,
  actor: Actor,
): Promise<DeploymentRecord | null> {
  const at = [tenantId, deploymentId];
  const restore = async () => {
    const [row] = await transaction.query<Restored>(RESTORE, at);
    if (row !== undefined) await rejectOtherSpellings(transaction, tenantId, row.name);
    if (row !== undefined) await claimHost(transaction, tenantId, deploymentId, row.route_host);
    return row ?? null;
  };
  let restored: Restored | null;
  let lostUrl: string | null = null;
  try {
    restored = await inSavepoint(transaction, restore);
  } catch (error) {
    if (!(error instanceof UniqueViolation)) throw error;
    const isLeaving = error.constraint === 'leaving_hosts_pkey';
    if (!isLeaving && !HAS_HOST.has(error.constraint)) throw error;
    if (isLeaving && (await transaction.query(MAY_WAIT, at)).length > 0) throw error;
    lostUrl = (await findDeployment(transaction, tenantId, deploymentId))?.sourceConfig.custom_url ?? null;
    await transaction.query(GIVE_UP_URL, at);
    restored = await restore();
  }
  if (restored === null) return null;
  const without =
    lostUrl === null
      ? ''
      : `, without its custom_url ${lostUrl}, because another deployment now has the host`;
  const message = `The deletion of ${restored.name} was cancelled${without}.`;
  const details = {
    from: 'AWAITING_DELETE',
    to: restored.told_status,
    ...(lostUrl === null ? {} : { lost_custom_url: lostUrl }),
  };
  await appendEvents(transaction, [{ tenantId, deploymentId, actor, reason: 'Restored', message, details }]);
  return findDeployment(transaction, tenantId, deploymentId);
}
