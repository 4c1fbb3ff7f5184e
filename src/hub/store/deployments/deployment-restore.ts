import type { Transaction } from '../core/database.ts';
import { and, eq, gt, type SQL, sql } from '../core/drizzle.ts';
import { UniqueViolation } from '../core/errors.ts';
import { type Actor, appendEvents } from '../core/events.ts';
import type { DeploymentRecord } from '../core/records.ts';
import { inSavepoint } from '../core/savepoint.ts';
import { deployments } from '../core/schema.ts';
import { restoreDeploymentStatement } from '../sql/deployments/restore-deployment.ts';
import { WITHIN_GRACE } from '../sql/fragments/grace-period.ts';
import { findDeployment } from './deployment-find.ts';
import { rejectOtherSpellings } from './deployment-name.ts';
import { claimHost } from './host-reservations.ts';

const own = (tenantId: string, deploymentId: string) =>
  and(eq(deployments.id, deploymentId), eq(deployments.tenantId, tenantId));

const exists = async (transaction: Transaction, condition: SQL | undefined): Promise<boolean> =>
  (await transaction.drizzle.select({ id: deployments.id }).from(deployments).where(condition)).length > 0;

/**
 * Whether a restore may wait for the host. A deployment that releases the host is usually finished within a moment, so
 * a restore usually waits for that deployment. Near the end of the grace period, a disconnected listener, perhaps of
 * another tenant, must not cause a loss of data.
 */
const mayWait = (transaction: Transaction, tenantId: string, deploymentId: string) =>
  exists(
    transaction,
    and(
      own(tenantId, deploymentId),
      gt(deployments.purgeAfter, sql`clock_timestamp() + interval '10 minutes'`),
    ),
  );

/** Constraints whose violation shows that another deployment has the host. */
const HAS_HOST: ReadonlySet<string> = new Set(['deployments_route_host', 'kept_hosts_pkey']);

/** Whether the deletion of a deployment can still be cancelled. The caller has locked the row of the deployment. */
export const isRestorable = (
  transaction: Transaction,
  tenantId: string,
  deploymentId: string,
): Promise<boolean> => exists(transaction, and(own(tenantId, deploymentId), sql.raw(WITHIN_GRACE)));

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
  const restore = async () => {
    const [row] = await transaction.run(restoreDeploymentStatement, { tenantId, deploymentId });
    if (row !== undefined) await rejectOtherSpellings(transaction, tenantId, row.name);
    if (row !== undefined) await claimHost(transaction, tenantId, deploymentId, row.routeHost);
    return row ?? null;
  };
  let restored: Awaited<ReturnType<typeof restore>>;
  let lostUrl: string | null = null;
  try {
    restored = await inSavepoint(transaction, restore);
  } catch (error) {
    if (!(error instanceof UniqueViolation)) throw error;
    const isLeaving = error.constraint === 'leaving_hosts_pkey';
    if (!isLeaving && !HAS_HOST.has(error.constraint)) throw error;
    if (isLeaving && (await mayWait(transaction, tenantId, deploymentId))) throw error;
    lostUrl = (await findDeployment(transaction, tenantId, deploymentId))?.sourceConfig.custom_url ?? null;
    await transaction.drizzle
      .update(deployments)
      .set({
        routeHost: null,
        sourceConfig: sql`${deployments.sourceConfig} || '{"custom_url": null}'`,
      })
      .where(own(tenantId, deploymentId));
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
    to: restored.historyStatus,
    ...(lostUrl === null ? {} : { lost_custom_url: lostUrl }),
  };
  await appendEvents(transaction, [{ tenantId, deploymentId, actor, reason: 'Restored', message, details }]);
  return findDeployment(transaction, tenantId, deploymentId);
}
