import type { Transaction } from './database.ts';

/** What is to be purged is kept for longer, unless its listener is gone: it may never come. */
const OLD_TOMBSTONES = `
DELETE FROM tombstones t WHERE purged_at < now() - interval '30 days'
  AND NOT (due AND EXISTS (SELECT 1 FROM listeners l WHERE l.id = t.listener_id AND l.lease_expires_at > now()))`;

/** Removes what has outlived its use: answers kept for 24 hours, tombstones kept for 30 days. Platform scope. */
export async function sweep(transaction: Transaction): Promise<void> {
  await transaction.query('DELETE FROM idempotency_keys WHERE expires_at <= now()');
  await transaction.query(OLD_TOMBSTONES);
}
