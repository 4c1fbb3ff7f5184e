import type { tenants } from '../../core/schema.ts';
import { type Columns, statement } from '../../core/statement.ts';

/** Locks a tenant that has quotas. No row: no quota applies, and nothing is locked. */
export const lockQuotasStatement = statement<
  { tenantId: string /** Whether the policy limits all tenants. */; limited: boolean },
  Columns<typeof tenants, 'quotas'>
>(
  'lock_quotas',
  `SELECT quotas FROM tenants WHERE id = :tenantId AND (:limited OR quotas <> '{}') FOR NO KEY UPDATE`,
);
