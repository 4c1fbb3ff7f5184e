import type { GitProvider } from '../../../domain/builds/git-host.ts';
import type { TenantQuotas } from '../../../domain/policy/tenant-quotas.ts';
import { index, jsonb, pgTable, text, timestamp, uniqueIndex, uuid } from '../core/drizzle.ts';
import { bytea } from './bytea.ts';

/** Owners of all other objects. */
export const tenants = pgTable('tenants', {
  id: uuid().primaryKey(),
  name: text().notNull().unique('tenants_name'),
  /** The maximum usage of this tenant. It replaces single entries of the policy's tenant_quotas. */
  quotas: jsonb().$type<Partial<TenantQuotas>>().notNull().default({}),
  createdAt: timestamp('created_at', { withTimezone: true }).notNull().defaultNow(),
});

/** API keys. The key itself is shown once and never stored. */
export const apiKeys = pgTable('api_keys', {
  id: uuid().primaryKey(),
  /** null: a key of the platform, which belongs to no tenant. */
  tenantId: uuid('tenant_id').references(() => tenants.id, { onDelete: 'cascade' }),
  name: text().notNull(),
  /** First characters of the key, to identify keys in lists. */
  prefix: text().notNull(),
  /** SHA-256 of the key, hexadecimal. The key has 256 random bits, so a slow hash would add nothing. */
  hash: text().notNull().unique('api_keys_hash'),
  scopes: text().array().notNull(),
  createdAt: timestamp('created_at', { withTimezone: true }).notNull().defaultNow(),
  /** When the key expires; null: never. */
  expiresAt: timestamp('expires_at', { withTimezone: true }),
  revokedAt: timestamp('revoked_at', { withTimezone: true }),
  /** Approximate: written at most once an hour. */
  lastUsedAt: timestamp('last_used_at', { withTimezone: true }),
});

/** Credentials for a git host. The token is write-only. */
export const integrations = pgTable(
  'integrations',
  {
    id: uuid().primaryKey(),
    tenantId: uuid('tenant_id')
      .notNull()
      .references(() => tenants.id),
    name: text().notNull(),
    provider: text().$type<GitProvider>().notNull(),
    /** https URL of the git host. The token is used for this host alone. */
    hostUrl: text('host_url').notNull(),
    /** The key that sealed the credentials (hub/store/secrets/secret-box.ts). */
    keyId: text('key_id').notNull(),
    sealed: bytea().notNull(),
    /** The sealed secret that signs its webhooks; null: it accepts none. */
    webhookKeyId: text('webhook_key_id'),
    webhookSealed: bytea('webhook_sealed'),
    createdAt: timestamp('created_at', { withTimezone: true }).notNull().defaultNow(),
    updatedAt: timestamp('updated_at', { withTimezone: true }).notNull().defaultNow(),
  },
  (table) => [
    uniqueIndex('integrations_name').on(table.tenantId, table.name),
    index('integrations_by_key').on(table.keyId),
  ],
);
