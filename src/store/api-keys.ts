import { createHash, randomBytes } from 'node:crypto';
import { and, desc, eq, isNull, lt, or, sql } from 'drizzle-orm';
import { uuidv7 } from '../domain/id.ts';
import type { Reader, Transaction } from './database.ts';
import type { Page } from './records.ts';
import { apiKeys } from './schema.ts';
import { ensureTenant, type Tenant } from './tenants.ts';

/** What a key may do. */
export const SCOPES = [
  'deployments:read',
  'deployments:write',
  'secrets:read',
  'listeners:run',
  'admin',
] as const;
export type Scope = (typeof SCOPES)[number];

/** A key without the key itself. */
export interface ApiKey {
  id: string;
  /** null: of the platform, bound to no tenant. */
  tenantId: string | null;
  name: string;
  prefix: string;
  scopes: Scope[];
  createdAt: Date;
  revokedAt: Date | null;
  /** Right to the hour. */
  lastUsedAt: Date | null;
}

const KEY_BYTES = 32;
const PREFIX_LENGTH = 12;

const COLUMNS = {
  id: apiKeys.id,
  tenantId: apiKeys.tenantId,
  name: apiKeys.name,
  prefix: apiKeys.prefix,
  scopes: sql<Scope[]>`${apiKeys.scopes}`,
  createdAt: apiKeys.createdAt,
  revokedAt: apiKeys.revokedAt,
  lastUsedAt: apiKeys.lastUsedAt,
};

/** A new random key: `berth_` and 256 bits. */
export function generateApiKey(): string {
  return `berth_${randomBytes(KEY_BYTES).toString('base64url')}`;
}

/** SHA-256, hexadecimal: what is stored of a key and looked up. */
export function hashApiKey(key: string): string {
  return createHash('sha256').update(key).digest('hex');
}

export interface NewApiKey {
  tenantId: string | null;
  name: string;
  scopes: readonly Scope[];
}

/** Stores a key; the caller shows it once and forgets it. */
export async function createApiKey(
  transaction: Transaction,
  { tenantId, name, scopes }: NewApiKey,
  key: string = generateApiKey(),
): Promise<{ key: string; apiKey: ApiKey }> {
  const [apiKey] = await transaction.drizzle
    .insert(apiKeys)
    .values({
      id: uuidv7(),
      tenantId,
      name,
      scopes: [...scopes],
      prefix: prefixOf(key),
      hash: hashApiKey(key),
    })
    .returning(COLUMNS);
  if (apiKey === undefined) throw new Error('failed to create an API key: no row came back');
  return { key, apiKey };
}

/** Enough to tell keys apart, at most a quarter of a short one. */
const prefixOf = (key: string) => key.slice(0, Math.min(PREFIX_LENGTH, Math.floor(key.length / 4)));

const FIND_BY_HASH = `
SELECT id, tenant_id AS "tenantId", name, prefix, scopes, created_at AS "createdAt", revoked_at AS "revokedAt",
  last_used_at AS "lastUsedAt"
FROM api_keys WHERE hash = $1 AND revoked_at IS NULL`;

/** The key of this hash unless it was revoked. Run it on behalf of the platform: the tenant is not known yet. */
export async function findApiKeyByHash(reader: Reader, hash: string): Promise<ApiKey | null> {
  const [apiKey] = await reader.query<ApiKey>(FIND_BY_HASH, [hash]);
  return apiKey ?? null;
}

/** Notes that the key was used; writes at most once an hour a key. */
export async function touchApiKey(transaction: Transaction, id: string): Promise<void> {
  await transaction.drizzle
    .update(apiKeys)
    .set({ lastUsedAt: sql`now()` })
    .where(
      and(
        eq(apiKeys.id, id),
        or(isNull(apiKeys.lastUsedAt), lt(apiKeys.lastUsedAt, sql`now() - interval '1 hour'`)),
      ),
    );
}

/** Keys of a tenant, or all (`null`), newest first, revoked ones included. */
export function listApiKeys(reader: Reader, tenantId: string | null, page: Page): Promise<ApiKey[]> {
  return reader.drizzle
    .select(COLUMNS)
    .from(apiKeys)
    .where(tenantId === null ? undefined : eq(apiKeys.tenantId, tenantId))
    .orderBy(desc(apiKeys.id))
    .limit(page.limit)
    .offset(page.offset);
}

/** Revokes a key of a tenant, or of any (`null`); false when there is none of this id. Revoking again changes nothing. */
export async function revokeApiKey(
  transaction: Transaction,
  tenantId: string | null,
  id: string,
): Promise<boolean> {
  const revoked = await transaction.drizzle
    .update(apiKeys)
    .set({ revokedAt: sql`coalesce(${apiKeys.revokedAt}, now())` })
    .where(and(eq(apiKeys.id, id), tenantId === null ? undefined : eq(apiKeys.tenantId, tenantId)))
    .returning({ id: apiKeys.id });
  return revoked.length > 0;
}

/**
 * Makes the first tenant and a key with all scopes, unless they exist; safe when several replicas do it at once.
 * A revoked bootstrap key stays revoked.
 */
export async function ensureBootstrap(
  transaction: Transaction,
  bootstrap: { tenantName: string; key: string },
): Promise<{ tenant: Tenant }> {
  const tenant = await ensureTenant(transaction, bootstrap.tenantName);
  await transaction.drizzle
    .insert(apiKeys)
    .values({
      id: uuidv7(),
      tenantId: tenant.id,
      name: 'bootstrap',
      scopes: [...SCOPES],
      prefix: prefixOf(bootstrap.key),
      hash: hashApiKey(bootstrap.key),
    })
    .onConflictDoNothing({ target: apiKeys.hash });
  return { tenant };
}
