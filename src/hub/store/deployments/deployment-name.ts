import { normalizedName } from '../../../domain/core/name.ts';
import type { Transaction } from '../core/database.ts';
import { UniqueViolation } from '../core/errors.ts';
import { isPlain, isSpelling } from './same-name.ts';

const OTHERS =
  'SELECT 1 FROM deployments WHERE tenant_id = $1 AND name <> $3 AND delete_requested_at IS NULL';

// Each half reads an index. The index of the second half contains only names that early versions stored.
const FIND = `${OTHERS} AND name = $2
  UNION ALL
  ${OTHERS} AND NOT (${isPlain('name')}) AND ${isSpelling('name', '$2')}
  LIMIT 1`;

/**
 * Rejects a name that another deployment has in another spelling. Early versions stored names as they were sent, and
 * the unique index compares them literally.
 * @throws UniqueViolation `deployments_name`
 */
export async function rejectOtherSpellings(
  transaction: Transaction,
  tenantId: string,
  name: string,
): Promise<void> {
  const found = await transaction.query(FIND, [tenantId, normalizedName(name), name]);
  if (found.length > 0) throw new UniqueViolation('deployments_name');
}
