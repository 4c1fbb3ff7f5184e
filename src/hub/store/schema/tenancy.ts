import type { GitProvider } from '../../../domain/builds/git-host.ts';
import type { Scope } from '../../../domain/core/api-key.ts';
import type { TenantQuotas } from '../../../domain/policy/tenant-quotas.ts';
import { index, jsonb, pgTable, sql, text, timestamp, uniqueIndex, uuid } from '../core/drizzle.ts';
import { bytea } from './bytea.ts';

/** Owners of all other objects. */
export const tenants = pgTable('tenants', {
  id: uuid().primaryKey(),
  name: text().notNull().unique('tenants_name'),
  /** The maximum usage of this tenant, which replaces single entries of tenant_quotas of the policy. */
  quotas: jsonb().$type<Partial<TenantQuotas>>().notNull().default({}),
  /**
   * The value that TXT records of the tenant's hosts are derived from (domain/app-hosts/challenge.ts). It never changes, so that
   * a record stays valid for later deployments.
   */
  domainToken: text('domain_token')
    .notNull()
    .default(sql`replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', '')`),
  createdAt: timestamp('created_at', { withTimezone: true }).notNull().defaultNow(),
});

/** The column with the tenant of a row that always has one. */
export const ofTenant = () =>
  uuid('tenant_id')
    .notNull()
    .references(() => tenants.id);

/** API keys. The key itself is shown once and never stored. */
export const apiKeys = pgTable('api_keys', {
  id: uuid().primaryKey(),
  /** null: a key of the platform, which belongs to no tenant. */
  tenantId: uuid('tenant_id').references(() => tenants.id, { onDelete: 'cascade' }),
  name: text().notNull(),
  /** First characters of the key, to identify keys in lists. */
  prefix: text().notNull(),
  /** SHA-256 of the key, hexadecimal. The key has 256 random bits, so a slow hash would not increase security. */
  hash: text().notNull().unique('api_keys_hash'),
  scopes: text().array().$type<Scope[]>().notNull(),
  createdAt: timestamp('created_at', { withTimezone: true }).notNull().defaultNow(),
  /** When the key expires; null: never. */
  expiresAt: timestamp('expires_at', { withTimezone: true }),
  revokedAt: timestamp('revoked_at', { withTimezone: true }),
  /** Approximate time of the last use, written at most once an hour. */
  lastUsedAt: timestamp('last_used_at', { withTimezone: true }),
});

/** Credentials for a git host. The token is write-only. */
export const integrations = pgTable(
  'integrations',
  {
    id: uuid().primaryKey(),
    tenantId: ofTenant(),
    name: text().notNull(),
    provider: text().$type<GitProvider>().notNull(),
    /** https URL of the git host. The token is used only for this host. */
    hostUrl: text('host_url').notNull(),
    /** The key that encrypted the credentials (hub/store/secrets/secret-box.ts). */
    keyId: text('key_id').notNull(),
    sealed: bytea().notNull(),
    /** The encrypted secret that signs webhooks of the integration; null: it accepts no webhooks. */
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
