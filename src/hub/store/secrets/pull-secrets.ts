import type { Reader, Transaction } from '../core/database.ts';
import { alias, and, count, gt, sql } from '../core/drizzle.ts';
import { deployments } from '../core/schema.ts';
import { requeuePullSecretsStatement, WITH_REPOSITORY } from '../sql/secrets/requeue-pull-secrets.ts';

/**
 * Requeues the Secrets with which clusters pull from the platform's registry, and counts those that are not confirmed
 * to be current.
 */

/**
 * Requeues every deployment with a repository, so that its listener updates its Secret.
 * @returns the number of requeued deployments, without deployments that were already due
 */
export async function redeliverPullSecrets(transaction: Transaction): Promise<number> {
  const rows = await transaction.run(requeuePullSecretsStatement, {});
  return rows.reduce((sum, { due }) => sum + due, 0);
}

/** The number of deployments with a repository whose listeners have not acknowledged the work item yet. */
export async function pendingPullSecrets(reader: Reader): Promise<number> {
  const d = alias(deployments, 'd');
  const [row] = await reader.drizzle
    .select({ pending: count() })
    .from(d)
    .where(and(sql.raw(WITH_REPOSITORY), gt(d.generation, d.acknowledgedGeneration)));
  return row?.pending ?? 0;
}
