import { pgTable, text, timestamp, uuid } from 'drizzle-orm/pg-core';

/** Owners of everything. */
export const tenants = pgTable('tenants', {
  id: uuid().primaryKey(),
  name: text().notNull().unique('tenants_name'),
  createdAt: timestamp('created_at', { withTimezone: true }).notNull().defaultNow(),
});

/** API keys; the key itself is shown once and never kept. */
export const apiKeys = pgTable('api_keys', {
  id: uuid().primaryKey(),
  /** null: a key of the platform itself, bound to no tenant. */
  tenantId: uuid('tenant_id').references(() => tenants.id, { onDelete: 'cascade' }),
  name: text().notNull(),
  /** First characters of the key, to tell keys apart in lists. */
  prefix: text().notNull(),
  /** SHA-256 of the key, hexadecimal. The key has 256 random bits: a slow hash would add nothing. */
  hash: text().notNull().unique('api_keys_hash'),
  scopes: text().array().notNull(),
  createdAt: timestamp('created_at', { withTimezone: true }).notNull().defaultNow(),
  revokedAt: timestamp('revoked_at', { withTimezone: true }),
  /** Coarse: written at most once an hour. */
  lastUsedAt: timestamp('last_used_at', { withTimezone: true }),
});
