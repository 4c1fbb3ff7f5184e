import type { Transaction } from '../core/database.ts';
import {
  lockReadersStatement,
  requeueOldBuildsStatement,
  requeueReadersStatement,
} from '../sql/secrets/requeue-builds.ts';

/**
 * Renews the credentials of unfinished builds. A listener writes the credentials with the work item, so an item is
 * requeued when its credentials have changed or will expire soon.
 */

/**
 * Requeues the builds that use this integration, so that they get its new token. The caller has locked the integration
 * FOR UPDATE.
 */
export async function redeliverTokens(
  transaction: Transaction,
  tenantId: string,
  integrationId: string,
): Promise<void> {
  await transaction.run(lockReadersStatement, { tenantId, integrationId });
  await transaction.run(requeueReadersStatement, { tenantId, integrationId });
}

/**
 * Requeues builds that have waited for half a day, so that they get new credentials. Each call requeues a bounded
 * number of builds. Platform scope.
 * @returns the number of requeued builds
 */
export async function renewBuildCredentials(transaction: Transaction): Promise<number> {
  const rows = await transaction.run(requeueOldBuildsStatement, {});
  return rows.reduce((sum, { due }) => sum + due, 0);
}
