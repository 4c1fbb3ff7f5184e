import { spellingsOf } from '../domain/name.ts';
import type { Transaction } from './database.ts';
import { UniqueViolation } from './errors.ts';

const FIND = `SELECT 1 FROM deployments
  WHERE tenant_id = $1 AND name = ANY($2::text[]) AND delete_requested_at IS NULL LIMIT 1`;

/**
 * Refuses a name that another deployment has in another spelling: names were once stored as they were sent, and the
 * unique index compares them as they are. Most names have one spelling, and ask nothing.
 * @throws UniqueViolation `deployments_name`
 */
export async function refuseOtherSpellings(
  transaction: Transaction,
  tenantId: string,
  name: string,
): Promise<void> {
  const others = spellingsOf(name).filter((spelling) => spelling !== name);
  if (others.length === 0) return;
  const found = await transaction.query(FIND, [tenantId, others]);
  if (found.length > 0) throw new UniqueViolation('deployments_name');
}
