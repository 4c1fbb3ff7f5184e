import type { Transaction } from '../core/database.ts';
import { requeueWhere, SETTLED } from '../listeners/requeue-work.ts';

/**
 * Renews the credentials of unfinished builds. A listener writes the credentials with the work item, so an item is
 * requeued when its credentials have changed or will expire soon.
 */

const IS_BUILT = `d.source = 'git_host' AND EXISTS (
  SELECT FROM revisions r WHERE r.deployment_id = d.id AND r.status IN ('AWAITING_BUILD', 'BUILDING'))`;

const READS_WITH = `d.source = 'git_host' AND d.tenant_id = $1 AND d.source_config ->> 'integration_id' = $2`;
/**
 * Also locks deployments in any state whose builds a change in progress may start, such as a restore, so that the next
 * statement sees this change.
 */
const HOLD = `SELECT d.id FROM deployments d WHERE ${READS_WITH} ORDER BY d.id FOR NO KEY UPDATE`;
const OF_INTEGRATION = requeueWhere(`${READS_WITH} AND ${IS_BUILT}`);

const RENEWED_AT_ONCE = 200;
/**
 * SQL: whether half of the lifetime of the push credentials (hub/api/builds/build-secret.ts) has elapsed. A hand-out
 * sets next_attempt_at to a minute later.
 */
const AGEING = requeueWhere(
  `${SETTLED} AND ${IS_BUILT} AND d.next_attempt_at < now() - interval '12 hours'`,
  RENEWED_AT_ONCE,
);

/**
 * Requeues the builds that use this integration, so that they get its new token. The caller has locked the integration
 * FOR UPDATE.
 */
export async function redeliverTokens(
  transaction: Transaction,
  tenantId: string,
  integrationId: string,
): Promise<void> {
  await transaction.query(HOLD, [tenantId, integrationId]);
  await transaction.query(OF_INTEGRATION, [tenantId, integrationId]);
}

/**
 * Requeues builds that have waited for half a day, so that they get new credentials. Each call requeues a bounded
 * number of builds. Platform scope.
 * @returns the number of requeued builds
 */
export async function renewBuildCredentials(transaction: Transaction): Promise<number> {
  const rows = await transaction.query<{ due: number }>(AGEING);
  return rows.reduce((sum, { due }) => sum + due, 0);
}
