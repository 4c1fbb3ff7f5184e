import { desc, eq } from 'drizzle-orm';
import { uuidv7 } from '../domain/id.ts';
import type { Reader, Transaction } from './database.ts';
import type { Page } from './records.ts';
import { tenants } from './schema.ts';

export type Tenant = typeof tenants.$inferSelect;

/** @throws UniqueViolation `tenants_name` */
export async function createTenant(transaction: Transaction, name: string): Promise<Tenant> {
  const [tenant] = await transaction.drizzle.insert(tenants).values({ id: uuidv7(), name }).returning();
  if (tenant === undefined) throw new Error('failed to create a tenant: no row came back');
  return tenant;
}

/** The tenant of this name, made if there is none. */
export async function ensureTenant(transaction: Transaction, name: string): Promise<Tenant> {
  const [tenant] = await transaction.drizzle
    .insert(tenants)
    .values({ id: uuidv7(), name })
    .onConflictDoUpdate({ target: tenants.name, set: { name } })
    .returning();
  if (tenant === undefined) throw new Error('failed to ensure a tenant: no row came back');
  return tenant;
}

export async function findTenant(reader: Reader, id: string): Promise<Tenant | null> {
  const [tenant] = await reader.drizzle.select().from(tenants).where(eq(tenants.id, id));
  return tenant ?? null;
}

export async function findTenantByName(reader: Reader, name: string): Promise<Tenant | null> {
  const [tenant] = await reader.drizzle.select().from(tenants).where(eq(tenants.name, name));
  return tenant ?? null;
}

/** Newest first. */
export function listTenants(reader: Reader, { limit, offset }: Page): Promise<Tenant[]> {
  return reader.drizzle.select().from(tenants).orderBy(desc(tenants.id)).limit(limit).offset(offset);
}
