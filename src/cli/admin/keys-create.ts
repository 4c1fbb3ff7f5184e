import type { z } from 'zod';
import { apiKeyNameSchema, expiresAtSchema, isExpired } from '../../domain/core/api-key.ts';
import { SCOPES, type Scope, TENANT_SCOPES } from '../../domain/core/scopes.ts';
import { tenantNameSchema } from '../../domain/core/tenant-name.ts';
import { openDatabase } from '../../hub/store/core/database.ts';
import { checkMigrated } from '../../hub/store/core/migrate.ts';
import { createApiKey } from '../../hub/store/tenancy/api-keys.ts';
import { ensureTenant } from '../../hub/store/tenancy/tenants.ts';
import { type Format, rendered } from '../command/output.ts';
import { UsageError } from '../command/usage-error.ts';
import type { AdminSession } from './session.ts';

/** `berth keys create`. */

/** The author of the change in the history. */
const ACTOR = { kind: 'system', name: 'berth keys create' } as const;

/** The options of the command. */
export interface KeyOptions {
  readonly tenant?: string;
  readonly platform?: boolean;
  readonly name: string;
  readonly scopes?: string;
  readonly expires?: string;
  readonly output: Format;
}

interface KeyRequest {
  readonly tenant: string | null;
  readonly name: string;
  readonly scopes: Scope[];
  /** null: never. */
  readonly expiresAt: Date | null;
}

const UNIT_MS: Readonly<Record<string, number>> = { h: 3_600_000, d: 86_400_000 };

/** Parses a time, or a duration from now. */
function parseExpiry(text: string | undefined, now: Date): Date | null {
  if (text === undefined) return null;
  const [, count, unit = ''] = /^(\d{1,5})([hd])$/.exec(text) ?? [];
  const expiresAt =
    count === undefined ? new Date(text) : new Date(now.getTime() + Number(count) * (UNIT_MS[unit] ?? 0));
  if (count === undefined && !expiresAtSchema.safeParse(text).success) {
    throw new UsageError(
      `--expires: "${text}" is neither a time such as 2030-01-31T00:00:00Z nor 90d or 12h`,
    );
  }
  if (isExpired(expiresAt, now)) throw new UsageError(`--expires: "${text}" is in the past`);
  return expiresAt;
}

function parseName(text: string): string {
  if (text.trim() === '') throw new UsageError('--name is empty');
  return parseBy(apiKeyNameSchema, '--name', text);
}

function parseBy(schema: z.ZodType<string>, flag: string, text: string): string {
  const parsed = schema.safeParse(text);
  if (parsed.success) return parsed.data;
  throw new UsageError(`${flag}: ${parsed.error.issues.map(({ message }) => message).join('; ')}`);
}

function parseScopes(text: string | undefined, fallback: readonly Scope[]): Scope[] {
  if (text === undefined) return [...fallback];
  return text.split(',').map((word) => {
    const found = SCOPES.find((scope) => scope === word.trim());
    if (found === undefined) throw new UsageError(`--scopes: "${word}" is not one of ${SCOPES.join(', ')}`);
    return found;
  });
}

function parseRequest({ tenant, platform = false, ...options }: KeyOptions): KeyRequest {
  if ((tenant === undefined) !== platform) throw new UsageError('set either --tenant NAME or --platform');
  const name = parseName(options.name);
  const scopes = parseScopes(options.scopes, platform ? ['listeners:run'] : TENANT_SCOPES);
  const expiresAt = parseExpiry(options.expires, new Date());
  // The name is only validated here. The store looks up the tenant by the name as written, and normalizes the name of a
  // new tenant.
  if (tenant !== undefined) parseBy(tenantNameSchema, '--tenant', tenant);
  return { tenant: tenant ?? null, name, scopes, expiresAt };
}

/**
 * Creates a key and prints it.
 * @throws UsageError, StoreError
 */
export async function createKey({ config, logger }: AdminSession, options: KeyOptions): Promise<void> {
  const request = parseRequest(options);
  if (config.databaseUrl === null)
    throw new UsageError('DATABASE_URL is not set: the key is stored in that database');
  const database = openDatabase({ url: config.databaseUrl, poolSize: 1, logger });
  try {
    await checkMigrated(database);
    const { key, apiKey } = await database.platform.transaction(async (transaction) => {
      const tenantId = request.tenant === null ? null : (await ensureTenant(transaction, request.tenant)).id;
      const { name, scopes, expiresAt } = request;
      return createApiKey(transaction, { tenantId, name, scopes, expiresAt, actor: ACTOR });
    });
    const { id, tenantId, scopes } = apiKey;
    const expires = apiKey.expiresAt?.toISOString() ?? null;
    const answer = { api_key: key, api_key_id: id, tenant_id: tenantId, scopes, expires_at: expires };
    const end = expires === null ? 'The key does not expire.' : `The key expires at ${expires}.`;
    const text = `${key}
Store it: it is not shown again. Tenant ${tenantId ?? '(platform)'}, scopes ${scopes.join(', ')}. ${end}`;
    console.log(await rendered(options.output, answer, { table: () => text }));
  } finally {
    await database.close();
  }
}
