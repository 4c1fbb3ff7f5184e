import { normalizedName } from '../../../domain/core/name.ts';
import type { Transaction } from '../core/database.ts';
import { UniqueViolation } from '../core/errors.ts';
import { findOtherSpellingStatement } from '../sql/deployments/find-other-spelling.ts';

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
  const names = { name, normalizedName: normalizedName(name) };
  const found = await transaction.run(findOtherSpellingStatement, { tenantId, ...names });
  if (found.length > 0) throw new UniqueViolation('deployments_name');
}
