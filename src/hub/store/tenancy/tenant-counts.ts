import type { CountedThing } from '../../../domain/core/tenant-counts.ts';
import type { KnownRoom } from '../../../domain/scheduling/known-room.ts';
import type { Transaction } from '../core/database.ts';

/** Foreign keys to the tenant do not wait for this lock. */
const LOCK = 'SELECT 1 FROM tenants WHERE id = $1 FOR NO KEY UPDATE';

const count = (table: CountedThing) =>
  `SELECT count(*)::int AS n FROM (SELECT 1 FROM ${table} WHERE tenant_id = $1 LIMIT $2) AS counted`;

/** Tables have the names of the policy's entries. */
const COUNTS: Readonly<Record<CountedThing, string>> = {
  tag_keys: count('tag_keys'),
  tag_values: count('tag_values'),
  integrations: count('integrations'),
  listeners: count('listeners'),
  tracing_projects: count('tracing_projects'),
};

/**
 * Whether a tenant has `most` of these already. The tenant is locked until the transaction ends, so that of two that
 * make one the second sees the first.
 */
export async function hasAll(
  transaction: Transaction,
  tenantId: string,
  thing: CountedThing,
  most: number,
): Promise<boolean> {
  await transaction.query(LOCK, [tenantId]);
  return (await roomFor(transaction, tenantId, thing, most)) <= 0;
}

/** For how many more there is room; 0 where there are more than `most`, too. */
async function roomFor(
  transaction: Transaction,
  tenantId: string,
  thing: CountedThing,
  most: number,
): Promise<number> {
  const [row] = await transaction.query<{ n: number }>(COUNTS[thing], [tenantId, most]);
  return most - (row?.n ?? 0);
}

const NAMED = 'SELECT 1 FROM tracing_projects WHERE tenant_id = $1 AND name = $2';

/**
 * Whether a deployment of this name would need one tracing project more than `most`. Nothing is locked: of many at once
 * a few may pass beyond it, where no quota makes them wait for each other.
 * @param known tenants that are not counted, with what is found; absent: it is counted each time. Of 18,000 the count was a
 *   third of what PostgreSQL did for a creation.
 */
export async function needsProjectBeyond(
  transaction: Transaction,
  tenantId: string,
  name: string,
  most: number,
  known?: KnownRoom,
): Promise<boolean> {
  if (known?.has(tenantId)) return false;
  const room = await roomFor(transaction, tenantId, 'tracing_projects', most);
  known?.note(tenantId, room);
  if (room > 0) return false;
  return (await transaction.query(NAMED, [tenantId, name])).length === 0;
}
