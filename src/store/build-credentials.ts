import type { Transaction } from './database.ts';
import { WORK_CHANNEL } from './deployment-write.ts';
import { MARK_DUE, SETTLED } from './listener-inventory.ts';

/**
 * The credentials of builds that have yet to end: a listener writes them with the item, so an item is made due again when
 * they have changed, or are about to run out. Nothing of what is wanted changes: no generation, so no pod.
 */

const IS_BUILT = `d.source = 'git_host' AND EXISTS (
  SELECT FROM revisions r WHERE r.deployment_id = d.id AND r.status IN ('AWAITING_BUILD', 'BUILDING'))`;

/** In the order in which everybody locks deployments. */
const markDue = (which: string) => `
WITH chosen AS (
  SELECT d.id FROM deployments d WHERE ${SETTLED} AND ${IS_BUILT} AND ${which} ORDER BY d.id FOR NO KEY UPDATE
), marked AS (
  UPDATE deployments d SET ${MARK_DUE} FROM chosen WHERE d.id = chosen.id RETURNING d.listener_id
)
SELECT pg_notify('${WORK_CHANNEL}', listener_id::text) FROM marked GROUP BY listener_id`;

const OF_INTEGRATION = markDue(`d.tenant_id = $1 AND d.source_config ->> 'integration_id' = $2`);

/** Half of what credentials to push are valid for (api/build-secret.ts). A hand-out sets next_attempt_at a minute ahead. */
const AGEING = markDue(`d.next_attempt_at < now() - interval '12 hours'`);

/** Has the builds that read with this integration get its token anew. */
export async function redeliverTokens(
  transaction: Transaction,
  tenantId: string,
  integrationId: string,
): Promise<void> {
  await transaction.query(OF_INTEGRATION, [tenantId, integrationId]);
}

/** Has the builds that have waited for half a day get credentials that hold for longer. Platform scope. */
export async function renewBuildCredentials(transaction: Transaction): Promise<void> {
  await transaction.query(AGEING);
}
