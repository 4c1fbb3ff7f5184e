import { statement } from '../../core/statement.ts';
import { isPlain, isSpelling } from '../../deployments/same-name.ts';

const OTHERS =
  'SELECT 1 FROM deployments WHERE tenant_id = :tenantId AND name <> :name AND delete_requested_at IS NULL';

/**
 * A deployment that has the name in another spelling. Each half reads an index. The index of the second half contains
 * only names that early versions stored.
 */
export const findOtherSpellingStatement = statement<
  { tenantId: string; name: string; normalizedName: string },
  object
>(
  'find_other_spelling',
  `${OTHERS} AND name = :normalizedName
UNION ALL
${OTHERS} AND NOT (${isPlain('name')}) AND ${isSpelling('name', ':normalizedName')}
LIMIT 1`,
);
