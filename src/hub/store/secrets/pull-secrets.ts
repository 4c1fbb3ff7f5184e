import type { Reader, Transaction } from '../core/database.ts';
import { requeueWhere } from '../listeners/requeue-work.ts';

/**
 * The Secrets with which clusters pull from the platform's registry, and how many of them are not confirmed to be
 * current.
 */

/** Deployments that have a repository there, except those that are being deleted. */
const WITH_REPOSITORY = `d.source IN ('git_host', 'internal_image') AND d.delete_requested_at IS NULL`;
const REDELIVER = requeueWhere(WITH_REPOSITORY);

/**
 * Requeues every deployment with a repository, so that its listener updates its Secret.
 * @returns the number of requeued deployments, without those that were already due
 */
export async function redeliverPullSecrets(transaction: Transaction): Promise<number> {
  const rows = await transaction.query<{ due: number }>(REDELIVER);
  return rows.reduce((sum, { due }) => sum + due, 0);
}

/** The number of deployments with a repository that are still work of their listeners. */
export async function pendingPullSecrets(reader: Reader): Promise<number> {
  const [row] = await reader.query<{ count: number }>(
    `SELECT count(*)::int AS count FROM deployments d WHERE ${WITH_REPOSITORY} AND d.generation > d.acknowledged_generation`,
  );
  return row?.count ?? 0;
}
