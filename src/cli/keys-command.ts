import { parseArgs } from 'node:util';
import type { z } from 'zod';
import type { Config } from '../config/index.ts';
import { apiKeyNameSchema, expiresAtSchema, isExpired, SCOPES, type Scope } from '../domain/core/api-key.ts';
import type { Logger } from '../domain/core/logger.ts';
import { tenantNameSchema } from '../domain/core/tenant-name.ts';
import { openDatabase } from '../hub/store/core/database.ts';
import { checkMigrated } from '../hub/store/core/migrate.ts';
import { createApiKey } from '../hub/store/tenancy/api-keys.ts';
import { ensureTenant } from '../hub/store/tenancy/tenants.ts';
import { REGISTRY_HELP, registryKey, rotateRegistry } from './keys-registry.ts';
import { ROTATE_HELP, rotateEncryption } from './keys-rotate.ts';
import { UsageError } from './usage-error.ts';

/** Default scopes of a key: everything within its tenant. */
const TENANT_SCOPES = SCOPES.filter((scope) => scope !== 'admin');

export const KEYS_HELP = `usage: berth keys create (--tenant NAME | --platform) --name NAME [--scopes A,B] [--expires WHEN] [--json]
Creates an API key and prints it once. Berth stores only the hash of the key.

  --tenant NAME    tenant of the key. The tenant is created if it does not exist
  --platform       create a key of the platform, for the platform's own listener: scope listeners:run
  --name NAME      name of the key, such as its purpose
  --scopes A,B     some of ${SCOPES.join(', ')}.
                   Default: ${TENANT_SCOPES.join(', ')}
                   (with --platform: listeners:run). admin gives access to all tenants, and is never a default
  --expires WHEN   expiry of the key: 90d, 12h, or a time such as 2030-01-31T00:00:00Z. Default: never
  --json           print {"api_key", "api_key_id", "tenant_id", "scopes", "expires_at"} instead of text

${ROTATE_HELP}

${REGISTRY_HELP}`;

/** The author of the change in the history. */
const ACTOR = { kind: 'system', name: 'berth keys create' } as const;

interface KeyRequest {
  tenant: string | null;
  name: string;
  scopes: Scope[];
  /** null: never. */
  expiresAt: Date | null;
  json: boolean;
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

function parseName(text: string | undefined): string {
  if (text === undefined || text.trim() === '') throw new UsageError('--name is missing');
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

function parseRequest(args: readonly string[]): KeyRequest {
  const { values } = parseArgs({
    args: [...args],
    options: {
      tenant: { type: 'string' },
      platform: { type: 'boolean', default: false },
      name: { type: 'string' },
      scopes: { type: 'string' },
      expires: { type: 'string' },
      json: { type: 'boolean', default: false },
    },
  });
  if ((values.tenant === undefined) !== values.platform) {
    throw new UsageError('set either --tenant NAME or --platform');
  }
  const name = parseName(values.name);
  const scopes = parseScopes(values.scopes, values.platform ? ['listeners:run'] : TENANT_SCOPES);
  const expiresAt = parseExpiry(values.expires, new Date());
  // The name is only validated here. The store looks up the tenant by the name as written, and normalizes the name of a
  // new tenant.
  if (values.tenant !== undefined) parseBy(tenantNameSchema, '--tenant', values.tenant);
  const tenant = values.tenant ?? null;
  return { tenant, name, scopes, expiresAt, json: values.json };
}

/**
 * `berth keys create …`, `berth keys rotate-encryption …`, `berth keys registry …`, `berth keys rotate-registry …`
 * @throws UsageError, StoreError
 */
export async function keysCommand(config: Config, logger: Logger, args: readonly string[]): Promise<void> {
  const [verb, ...rest] = args;
  if (verb === 'rotate-encryption') return rotateEncryption(config, logger, rest);
  if (verb === 'registry') return registryKey(config, rest);
  if (verb === 'rotate-registry') return rotateRegistry(config, logger, rest);
  if (verb !== 'create') throw new UsageError(`berth keys: "${verb ?? ''}" is not a command`);
  const request = parseRequest(rest);
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
    console.log(
      request.json
        ? JSON.stringify(answer)
        : `${key}\nStore it: it is not shown again. Tenant ${tenantId ?? '(platform)'}, scopes ${scopes.join(', ')}. ${end}`,
    );
  } finally {
    await database.close();
  }
}
