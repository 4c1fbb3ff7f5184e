import type { CountedThing } from '../../../domain/core/tenant-counts.ts';
import type { Transaction } from '../core/database.ts';
import { and, count, eq, type PgTable } from '../core/drizzle.ts';
import { integrations, listeners, tagKeys, tagValues, tenants, tracingProjects } from '../core/schema.ts';
import { countProjectsStatement } from '../sql/tenancy/count-projects.ts';
import type { KnownRoom } from './known-room.ts';

/** Tables by the names of the policy's entries. */
const TABLES = {
  tag_keys: tagKeys,
  tag_values: tagValues,
  integrations,
  listeners,
  tracing_projects: tracingProjects,
} as const satisfies Readonly<Record<CountedThing, PgTable>>;

/**
 * Whether a tenant already has `most` of these objects. The tenant is locked until the transaction ends, so that of two
 * concurrent creations, the second sees the first.
 */
export async function hasReachedLimit(
  transaction: Transaction,
  tenantId: string,
  thing: CountedThing,
  most: number,
): Promise<boolean> {
  // Foreign keys to the tenant do not wait for this lock.
  await transaction.drizzle
    .select({ id: tenants.id })
    .from(tenants)
    .where(eq(tenants.id, tenantId))
    .for('no key update');
  return (await remainingCount(transaction, tenantId, thing, most)) <= 0;
}

/** The remaining number of objects; also 0 when more than `most` exist. */
async function remainingCount(
  transaction: Transaction,
  tenantId: string,
  thing: CountedThing,
  most: number,
): Promise<number> {
  const table = TABLES[thing];
  const { drizzle } = transaction;
  const counted = drizzle
    .select({ id: table.id })
    .from(table)
    .where(eq(table.tenantId, tenantId))
    .limit(most)
    .as('counted');
  const [row] = await drizzle.select({ found: count() }).from(counted);
  return most - (row?.found ?? 0);
}

/**
 * Whether a deployment of this name would exceed the number of tracing projects. Nothing is locked, so concurrent
 * creations can exceed the number slightly if no quota serializes them.
 * @param known tenants whose projects need no count, which is updated; absent: each call counts. With 18,000 projects,
 *   the count was a third of PostgreSQL's work for a creation.
 */
export async function exceedsProjectLimit(
  transaction: Transaction,
  tenantId: string,
  name: string,
  most: number,
  known?: KnownRoom,
): Promise<boolean> {
  if (known?.has(tenantId)) return false;
  const [counted] = await transaction.run(countProjectsStatement, { tenantId, most });
  const room = most - (counted?.found ?? 0);
  known?.note(tenantId, room);
  if (room > 0) return false;
  const named = await transaction.drizzle
    .select({ id: tracingProjects.id })
    .from(tracingProjects)
    .where(and(eq(tracingProjects.tenantId, tenantId), eq(tracingProjects.name, name)));
  return named.length === 0;
}
