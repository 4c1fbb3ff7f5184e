import type { CountedThing } from '../domain/tenant-counts.ts';
import type { Transaction } from './database.ts';

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
  return isFull(transaction, tenantId, thing, most);
}

async function isFull(
  transaction: Transaction,
  tenantId: string,
  thing: CountedThing,
  most: number,
): Promise<boolean> {
  const [row] = await transaction.query<{ n: number }>(COUNTS[thing], [tenantId, most]);
  return (row?.n ?? 0) >= most;
}

const NAMED = 'SELECT 1 FROM tracing_projects WHERE tenant_id = $1 AND name = $2';

/**
 * Whether a deployment of this name would need one tracing project more than `most`. Nothing is locked: of many at once
 * a few may pass beyond it, where no quota makes them wait for each other.
 */
export async function needsProjectBeyond(
  transaction: Transaction,
  tenantId: string,
  name: string,
  most: number,
): Promise<boolean> {
  if (!(await isFull(transaction, tenantId, 'tracing_projects', most))) return false;
  return (await transaction.query(NAMED, [tenantId, name])).length === 0;
}
