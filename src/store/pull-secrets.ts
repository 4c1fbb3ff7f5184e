import type { Reader, Transaction } from './database.ts';

/** The Secrets with which clusters pull from the platform's registry: which of them are not known to be as wanted. */

/** Deployments that have a repository in it, but for those on their way out. */
const WITH_REPOSITORY = `source IN ('git_host', 'internal_image') AND delete_requested_at IS NULL`;

/**
 * Makes every deployment with a repository work again, so that its listener looks at its Secret. Nothing of what is
 * wanted changes: no generation, so no pod.
 * @returns how many became work; those that were work already are not counted
 */
export async function redeliverPullSecrets(transaction: Transaction): Promise<number> {
  const rows = await transaction.query(
    `UPDATE deployments SET acknowledged_generation = generation - 1, next_attempt_at = now(), attempts = 0
     WHERE ${WITH_REPOSITORY} AND acknowledged_generation >= generation RETURNING 1 AS due`,
  );
  return rows.length;
}

/** How many deployments with a repository are still work of their listeners. */
export async function pendingPullSecrets(reader: Reader): Promise<number> {
  const [row] = await reader.query<{ count: number }>(
    `SELECT count(*)::int AS count FROM deployments WHERE ${WITH_REPOSITORY} AND generation > acknowledged_generation`,
  );
  return row?.count ?? 0;
}
