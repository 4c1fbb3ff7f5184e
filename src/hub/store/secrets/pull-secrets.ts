import type { Reader, Transaction } from '../core/database.ts';
import { requeueWhere } from '../listeners/requeue-work.ts';

/**
 * Requeues the Secrets with which clusters pull from the platform's registry, and counts those that are not confirmed
 * to be current.
 */

/** SQL: whether a deployment has a repository in the registry and is not being deleted. */
const WITH_REPOSITORY = `d.source IN ('git_host', 'internal_image') AND d.delete_requested_at IS NULL`;
const REDELIVER = requeueWhere(WITH_REPOSITORY);

/**
 * Requeues every deployment with a repository, so that its listener updates its Secret.
 * @returns the number of requeued deployments, without deployments that were already due
 */
export async function redeliverPullSecrets(transaction: Transaction): Promise<number> {
  const rows = await transaction.query<{ due: number }>(REDELIVER);
  return rows.reduce((sum, { due }) => sum + due, 0);
}

/** The number of deployments with a repository whose listeners have not acknowledged the work item yet. */
export async function pendingPullSecrets(reader: Reader): Promise<number> {
  const [row] = await reader.query<{ count: number }>(
    `SELECT count(*)::int AS count FROM deployments d WHERE ${WITH_REPOSITORY} AND d.generation > d.acknowledged_generation`,
  );
  return row?.count ?? 0;
}
