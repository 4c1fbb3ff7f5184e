import { normalizedName } from '../../../domain/core/name.ts';
import type { Reader, Transaction } from '../core/database.ts';
import { UniqueViolation } from '../core/errors.ts';
import { findNamedDeploymentsStatement } from '../sql/deployments/find-named-deployments.ts';

const holdersOf = (reader: Reader, tenantId: string, name: string) =>
  reader.run(findNamedDeploymentsStatement, { tenantId, normalizedName: normalizedName(name) });

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
  const holders = await holdersOf(transaction, tenantId, name);
  if (holders.some((holder) => holder.name !== name)) throw new UniqueViolation('deployments_name');
}

/**
 * Id of the deployment that has a name in any spelling and is not being deleted; null: the name is free. Of several
 * spellings, the normalized one counts, otherwise the oldest deployment.
 */
export async function findNameHolder(reader: Reader, tenantId: string, name: string): Promise<string | null> {
  const holders = await holdersOf(reader, tenantId, name);
  const exact = holders.find((holder) => holder.name === normalizedName(name));
  return exact?.id ?? holders.map(({ id }) => id).sort()[0] ?? null;
}
