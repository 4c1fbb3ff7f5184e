import { statement } from '../../core/statement.ts';
import { isPlain, isSpelling } from '../../deployments/same-name.ts';

const HOLDERS =
  'SELECT id, name FROM deployments WHERE tenant_id = :tenantId AND delete_requested_at IS NULL';

/**
 * The deployments that have a name in any spelling and are not being deleted. More than one only if an early version stored
 * them. Each half reads an index. The index of the second half contains only names that are not plain.
 */
export const findNamedDeploymentsStatement = statement<
  { tenantId: string; normalizedName: string },
  { id: string; name: string }
>(
  'find_named_deployments',
  `${HOLDERS} AND name = :normalizedName
UNION ALL
${HOLDERS} AND name <> :normalizedName AND NOT (${isPlain('name')}) AND ${isSpelling('name', ':normalizedName')}`,
);
