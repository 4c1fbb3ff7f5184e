import { hash, randomBytes } from 'node:crypto';
import { SCOPES, type Scope } from '../../../domain/core/api-key.ts';
import { uuidv7 } from '../../../domain/core/id.ts';
import type { Reader, Transaction } from '../core/database.ts';
import { and, desc, eq, gt, inArray, isNull, lt, notLike, or, sql } from '../core/drizzle.ts';
import { type Actor, appendEvents } from '../core/events.ts';
import type { Page } from '../core/records.ts';
import { apiKeys } from '../core/schema.ts';
import { findApiKeyStatement } from '../sql/tenancy/find-api-key.ts';
import { notifyAccess } from './sessions.ts';
import { ensureTenant, type Tenant } from './tenants.ts';

export { SCOPES, type Scope };

/** The stored data of an API key, without the key itself. */
export interface ApiKey {
  id: string;
  /** null: a key of the platform, which belongs to no tenant. */
  tenantId: string | null;
  name: string;
  prefix: string;
  scopes: Scope[];
  createdAt: Date;
  /** When the key expires; null: never. */
  expiresAt: Date | null;
  revokedAt: Date | null;
  /** Time of the last use, accurate to the hour. */
  lastUsedAt: Date | null;
}

/** Names of the keys that the configuration sets. */
export const CONFIGURED_KEY_NAMES = { bootstrap: 'bootstrap', listener: 'platform listener' } as const;

const KEY_BYTES = 32;
const PREFIX_LENGTH = 12;
/** The form of a generated key. 32 bytes are 43 characters of base64url. */
const GENERATED = /^berth_[A-Za-z0-9_-]{43}$/;

const COLUMNS = {
  id: apiKeys.id,
  tenantId: apiKeys.tenantId,
  name: apiKeys.name,
  prefix: apiKeys.prefix,
  scopes: apiKeys.scopes,
  createdAt: apiKeys.createdAt,
  expiresAt: apiKeys.expiresAt,
  revokedAt: apiKeys.revokedAt,
  lastUsedAt: apiKeys.lastUsedAt,
};

/** A new random key: `berth_` and 256 bits. */
export function generateApiKey(): string {
  return `berth_${randomBytes(KEY_BYTES).toString('base64url')}`;
}

/** Whether a text has the form of a key from `generateApiKey`. Other texts need no lookup. */
export function isGeneratedKey(key: string): boolean {
  return GENERATED.test(key);
}

/** The stored form of a key, which is its SHA-256 in hexadecimal. */
export function hashApiKey(key: string): string {
  return hash('sha256', key, 'hex');
}

export interface NewApiKey {
  tenantId: string | null;
  name: string;
  scopes: readonly Scope[];
  /** Absent or null: the key never expires. */
  expiresAt?: Date | null;
  /** The author, for the history; absent: the key comes from the configuration, and no event is written. */
  actor?: Actor;
}

/**
 * Stores a key. The caller shows the key once and does not store it.
 * @throws UniqueViolation `api_keys_hash`; ReferenceViolation when the tenant does not exist
 */
export async function createApiKey(
  transaction: Transaction,
  { tenantId, name, scopes, expiresAt = null, actor }: NewApiKey,
  key: string = generateApiKey(),
): Promise<{ key: string; apiKey: ApiKey }> {
  const [apiKey] = await transaction.drizzle
    .insert(apiKeys)
    .values({
      id: uuidv7(),
      tenantId,
      name,
      scopes: [...scopes],
      expiresAt,
      prefix: prefixOf(key),
      hash: hashApiKey(key),
    })
    .returning(COLUMNS);
  if (apiKey === undefined) throw new Error('failed to create an API key: the statement returned no row');
  if (actor !== undefined) {
    const details = { api_key_id: apiKey.id, scopes, expires_at: expiresAt?.toISOString() ?? null };
    const message = `API key ${name} was created.`;
    await appendEvents(transaction, [{ tenantId, actor, reason: 'ApiKeyCreated', message, details }]);
  }
  return { key, apiKey };
}

/** The prefix has enough characters to distinguish keys, but at most a quarter of a short key. */
const prefixOf = (key: string) => key.slice(0, Math.min(PREFIX_LENGTH, Math.floor(key.length / 4)));

/** The key with this id, unless it was revoked or has expired. Platform scope. */
export async function findLiveApiKey(reader: Reader, id: string): Promise<ApiKey | null> {
  const [apiKey] = await reader.drizzle
    .select(COLUMNS)
    .from(apiKeys)
    .where(
      and(
        eq(apiKeys.id, id),
        isNull(apiKeys.revokedAt),
        or(isNull(apiKeys.expiresAt), gt(apiKeys.expiresAt, sql`now()`)),
      ),
    );
  return apiKey ?? null;
}

/**
 * The key with this hash, unless it was revoked or has expired. Must run in the platform's scope, because the tenant is
 * not known yet.
 */
export async function findApiKeyByHash(reader: Reader, hash: string): Promise<ApiKey | null> {
  const [apiKey] = await reader.run(findApiKeyStatement, { hash });
  return apiKey ?? null;
}

/** Hashes of all keys that a configuration has ever set. Configured keys may have any form. Platform scope. */
export async function findKeysOfOtherForm(reader: Reader): Promise<ReadonlySet<string>> {
  const names = Object.values(CONFIGURED_KEY_NAMES);
  const rows = await reader.drizzle
    .select({ hash: apiKeys.hash })
    .from(apiKeys)
    .where(
      and(
        isNull(apiKeys.revokedAt),
        // The prefix is not the prefix of a generated key, or the configuration sets the name.
        or(notLike(apiKeys.prefix, 'berth\\_%'), inArray(apiKeys.name, names)),
      ),
    );
  return new Set(rows.map(({ hash }) => hash));
}

/** Records that the key was used. Writes at most once an hour per key. */
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

/** Keys of a tenant, of the platform, or all keys (`null`), newest first, including revoked keys. */
export function listApiKeys(
  reader: Reader,
  owner: string | 'platform' | null,
  page: Page,
): Promise<ApiKey[]> {
  const ofTenant = owner === null ? undefined : eq(apiKeys.tenantId, owner);
  return reader.drizzle
    .select(COLUMNS)
    .from(apiKeys)
    .where(owner === 'platform' ? isNull(apiKeys.tenantId) : ofTenant)
    .orderBy(desc(apiKeys.id))
    .limit(page.limit)
    .offset(page.offset);
}

/** A key of the tenant or of the platform, or of any tenant (`null`); null when no key has this id. */
export async function findApiKey(
  reader: Reader,
  tenantId: string | null,
  id: string,
): Promise<ApiKey | null> {
  const visible =
    tenantId === null ? undefined : or(eq(apiKeys.tenantId, tenantId), isNull(apiKeys.tenantId));
  const [apiKey] = await reader.drizzle
    .select(COLUMNS)
    .from(apiKeys)
    .where(and(eq(apiKeys.id, id), visible));
  return apiKey ?? null;
}

/**
 * Revokes a key of a tenant, or of any tenant (`null`); false when no key has this id. A repeated revocation has no
 * effect.
 * @param actor the author, for the history; absent: no event
 */
export async function revokeApiKey(
  transaction: Transaction,
  tenantId: string | null,
  id: string,
  actor?: Actor,
): Promise<boolean> {
  const wanted = and(eq(apiKeys.id, id), tenantId === null ? undefined : eq(apiKeys.tenantId, tenantId));
  const [revoked] = await transaction.drizzle
    .update(apiKeys)
    .set({ revokedAt: sql`now()` })
    .where(and(wanted, isNull(apiKeys.revokedAt)))
    .returning(COLUMNS);
  if (revoked === undefined) {
    const known = await transaction.drizzle.select({ id: apiKeys.id }).from(apiKeys).where(wanted);
    return known.length > 0;
  }
  await notifyAccess(transaction, id);
  if (actor !== undefined) {
    const { tenantId: owner, name } = revoked;
    const message = `API key ${name} was revoked.`;
    const details = { api_key_id: id };
    await appendEvents(transaction, [{ tenantId: owner, actor, reason: 'ApiKeyRevoked', message, details }]);
  }
  return true;
}

/**
 * Creates the first tenant and a key with all scopes, unless they exist. Several replicas can call it at once. A
 * bootstrap key that was revoked remains revoked.
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
      name: CONFIGURED_KEY_NAMES.bootstrap,
      scopes: [...SCOPES],
      prefix: prefixOf(bootstrap.key),
      hash: hashApiKey(bootstrap.key),
    })
    .onConflictDoNothing({ target: apiKeys.hash });
  return { tenant };
}
