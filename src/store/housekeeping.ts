import type { Transaction } from './database.ts';
import { openSecrets, type SecretBox, sealSecretsAs } from './secret-box.ts';

/** Removes what has outlived its use: answers kept for 24 hours, tombstones kept for 30 days. Platform scope. */
export async function sweep(transaction: Transaction): Promise<void> {
  await transaction.query('DELETE FROM idempotency_keys WHERE expires_at <= now()');
  await transaction.query(`DELETE FROM tombstones WHERE NOT due AND purged_at < now() - interval '30 days'`);
}

interface SetRow {
  id: string;
  tenantId: string;
  deploymentId: string;
  keyId: string;
  sealed: Buffer;
}

const OTHER_KEY = `
SELECT id, tenant_id AS "tenantId", deployment_id AS "deploymentId", key_id AS "keyId", sealed FROM secret_sets
WHERE key_id <> $1 ORDER BY id LIMIT $2 FOR UPDATE SKIP LOCKED`;

/**
 * Seals up to `limit` sets of secrets with the primary key that another key had sealed. Platform scope.
 * @returns how many; 0: no other key is in use any more
 */
export async function resealSecrets(
  transaction: Transaction,
  box: SecretBox,
  limit: number,
): Promise<number> {
  const sets = await transaction.query<SetRow>(OTHER_KEY, [box.primaryKeyId, limit]);
  for (const set of sets) {
    const { keyId, sealed } = sealSecretsAs(box, set, openSecrets(box, set));
    await transaction.query('UPDATE secret_sets SET key_id = $2, sealed = $3 WHERE id = $1', [
      set.id,
      keyId,
      sealed,
    ]);
  }
  return sets.length;
}
