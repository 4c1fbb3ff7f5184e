import type { Transaction } from './database.ts';

/** Removes what has outlived its use: answers kept for 24 hours, tombstones kept for 30 days. Platform scope. */
export async function sweep(transaction: Transaction): Promise<void> {
  await transaction.query('DELETE FROM idempotency_keys WHERE expires_at <= now()');
  await transaction.query(`DELETE FROM tombstones WHERE NOT due AND purged_at < now() - interval '30 days'`);
}
