import { uuidv7 } from '../../../domain/core/id.ts';
import { normalizedName } from '../../../domain/core/name.ts';
import type { TenantQuotas } from '../../../domain/policy/tenant-quotas.ts';
import type { Reader, Transaction } from '../core/database.ts';
import { and, desc, eq } from '../core/drizzle.ts';
import { type Actor, appendEvents } from '../core/events.ts';
import type { Page } from '../core/records.ts';
import { tenants } from '../core/schema.ts';
import { findSameName, named, namedLike, rejectSameName } from '../deployments/same-name.ts';

export type Tenant = typeof tenants.$inferSelect;

/**
 * @param more the quotas of the tenant, and the author for the history (absent: no event)
 * @throws UniqueViolation `tenants_name`
 */
export async function createTenant(
  transaction: Transaction,
  name: string,
  { quotas = {}, actor }: { quotas?: Partial<TenantQuotas>; actor?: Actor } = {},
): Promise<Tenant> {
  await rejectSameName(transaction, 'tenants_name', { owner: null, name });
  const [tenant] = await transaction.drizzle
    .insert(tenants)
    .values({ id: uuidv7(), name, quotas })
    .returning();
  if (tenant === undefined) throw new Error('failed to create a tenant: the statement returned no row');
  if (actor !== undefined) {
    const message = `Tenant ${name} was created.`;
    const details = { name, quotas };
    await appendEvents(transaction, [
      { tenantId: tenant.id, actor, reason: 'TenantCreated', message, details },
    ]);
  }
  return tenant;
}

/** The tenant with this name in any of its spellings. The tenant is created if it does not exist. */
export async function ensureTenant(transaction: Transaction, name: string): Promise<Tenant> {
  const known = await findTenantByName(transaction, name);
  if (known !== null) return known;
  const [tenant] = await transaction.drizzle
    .insert(tenants)
    .values({ id: uuidv7(), name: normalizedName(name) })
    .onConflictDoUpdate({ target: tenants.name, set: { name: normalizedName(name) } })
    .returning();
  if (tenant === undefined) throw new Error('failed to ensure a tenant: the statement returned no row');
  return tenant;
}

export async function findTenant(reader: Reader, id: string): Promise<Tenant | null> {
  const [tenant] = await reader.drizzle.select().from(tenants).where(eq(tenants.id, id));
  return tenant ?? null;
}

/** The tenant of this name in any of its spellings. An exact match takes precedence. */
export async function findTenantByName(reader: Reader, name: string): Promise<Tenant | null> {
  const same = await findSameName(reader, 'tenants_name', null, name);
  const found = same.find((tenant) => tenant.name === name) ?? same[0];
  return found === undefined ? null : findTenant(reader, found.id);
}

export interface TenantFilter {
  /** The exact name, in any of its spellings. */
  name?: string | undefined;
  /** Part of the name in any of its spellings, case-sensitive. */
  nameContains?: string | undefined;
}

/** Newest first. */
export function listTenants(
  reader: Reader,
  { limit, offset }: Page,
  { name, nameContains }: TenantFilter = {},
): Promise<Tenant[]> {
  return reader.drizzle
    .select()
    .from(tenants)
    .where(
      and(
        name === undefined ? undefined : named('tenants.name', name),
        nameContains === undefined ? undefined : namedLike('tenants.name', nameContains),
      ),
    )
    .orderBy(desc(tenants.id))
    .limit(limit)
    .offset(offset);
}

/** The changes. Absent fields do not change. */
export interface TenantChange {
  name?: string | undefined;
  /** All quotas of the tenant after the change. */
  quotas?: Partial<TenantQuotas> | undefined;
}

const sameQuotas = (left: Partial<TenantQuotas>, right: Partial<TenantQuotas>) =>
  Object.keys({ ...left, ...right }).every(
    (name) => left[name as keyof TenantQuotas] === right[name as keyof TenantQuotas],
  );

/**
 * Changes a tenant. A change without an effect creates no event.
 * @returns null when no tenant has this id
 * @throws UniqueViolation `tenants_name`
 */
export async function updateTenant(
  transaction: Transaction,
  id: string,
  change: TenantChange,
  actor: Actor,
): Promise<Tenant | null> {
  const [before] = await transaction.drizzle.select().from(tenants).where(eq(tenants.id, id)).for('update');
  if (before === undefined) return null;
  const { name = before.name, quotas = before.quotas } = change;
  const changed = [
    ...(name === before.name ? [] : ['name']),
    ...(sameQuotas(quotas, before.quotas) ? [] : ['quotas']),
  ];
  if (changed.length === 0) return before;
  if (name !== before.name)
    await rejectSameName(transaction, 'tenants_name', { owner: null, name, ownId: id });
  const [after] = await transaction.drizzle
    .update(tenants)
    .set({ name, quotas })
    .where(eq(tenants.id, id))
    .returning();
  if (after === undefined) throw new Error('failed to update a tenant: the statement returned no row');
  const message = `Changed: ${changed.join(', ')}.`;
  const details = { changed, before: pick(before, changed), after: pick(after, changed) };
  await appendEvents(transaction, [{ tenantId: id, actor, reason: 'TenantChanged', message, details }]);
  return after;
}

const pick = (tenant: Tenant, names: readonly string[]) =>
  Object.fromEntries(Object.entries(tenant).filter(([name]) => names.includes(name)));
