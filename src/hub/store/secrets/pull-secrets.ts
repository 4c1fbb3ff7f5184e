import type { Reader, Transaction } from '../core/database.ts';
import { makeAnew } from '../listeners/requeue-work.ts';

/** The Secrets with which clusters pull from the platform's registry: which of them are not known to be as wanted. */

/** Deployments that have a repository in it, but for those on their way out. */
const WITH_REPOSITORY = `d.source IN ('git_host', 'internal_image') AND d.delete_requested_at IS NULL`;
const REDELIVER = makeAnew(WITH_REPOSITORY);

/**
 * Makes every deployment with a repository work again, so that its listener looks at its Secret.
 * @returns how many became work; those that were to be made anyhow are not counted
 */
export async function redeliverPullSecrets(transaction: Transaction): Promise<number> {
  const rows = await transaction.query<{ due: number }>(REDELIVER);
  return rows.reduce((sum, { due }) => sum + due, 0);
}

/** How many deployments with a repository are still work of their listeners. */
export async function pendingPullSecrets(reader: Reader): Promise<number> {
  const [row] = await reader.query<{ count: number }>(
    `SELECT count(*)::int AS count FROM deployments d WHERE ${WITH_REPOSITORY} AND d.generation > d.acknowledged_generation`,
  );
  return row?.count ?? 0;
}
