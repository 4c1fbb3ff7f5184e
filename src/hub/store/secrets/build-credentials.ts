import type { Transaction } from '../core/database.ts';
import { makeAnew, SETTLED } from '../listeners/requeue-work.ts';

/**
 * The credentials of builds that have yet to end: a listener writes them with the item, so an item is made anew when
 * they have changed, or are about to run out.
 */

const IS_BUILT = `d.source = 'git_host' AND EXISTS (
  SELECT FROM revisions r WHERE r.deployment_id = d.id AND r.status IN ('AWAITING_BUILD', 'BUILDING'))`;

const READS_WITH = `d.source = 'git_host' AND d.tenant_id = $1 AND d.source_config ->> 'integration_id' = $2`;
/** Also those that come to be built by what is under way, a restore too, so whatever their state: the next statement sees it. */
const HOLD = `SELECT d.id FROM deployments d WHERE ${READS_WITH} ORDER BY d.id FOR NO KEY UPDATE`;
const OF_INTEGRATION = makeAnew(`${READS_WITH} AND ${IS_BUILT}`);

const RENEWED_AT_ONCE = 200;
/** Half of what credentials to push are valid for (hub/api/builds/build-secret.ts). A hand-out sets next_attempt_at a minute ahead. */
const AGEING = makeAnew(
  `${SETTLED} AND ${IS_BUILT} AND d.next_attempt_at < now() - interval '12 hours'`,
  RENEWED_AT_ONCE,
);

/** Has the builds that read with this integration, which the caller has locked FOR UPDATE, get its token anew. */
export async function redeliverTokens(
  transaction: Transaction,
  tenantId: string,
  integrationId: string,
): Promise<void> {
  await transaction.query(HOLD, [tenantId, integrationId]);
  await transaction.query(OF_INTEGRATION, [tenantId, integrationId]);
}

/**
 * Has the builds that have waited for half a day get credentials that hold for longer, some at a time. Platform scope.
 * @returns how many
 */
export async function renewBuildCredentials(transaction: Transaction): Promise<number> {
  const rows = await transaction.query<{ due: number }>(AGEING);
  return rows.reduce((sum, { due }) => sum + due, 0);
}
