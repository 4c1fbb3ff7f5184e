import { parseArgs } from 'node:util';
import type { Config } from './config.ts';
import type { Logger } from './domain/logger.ts';
import { ROTATE_HELP, rotateEncryption } from './keys-rotate.ts';
import { createApiKey, SCOPES, type Scope } from './store/api-keys.ts';
import { openDatabase } from './store/database.ts';
import { checkMigrated } from './store/migrate.ts';
import { ensureTenant } from './store/tenants.ts';
import { UsageError } from './usage-error.ts';

/** What a key gets when nothing is said: everything within its tenant. */
const TENANT_SCOPES = SCOPES.filter((scope) => scope !== 'admin');

export const KEYS_HELP = `usage: berth keys create (--tenant NAME | --platform) --name NAME [--scopes A,B] [--json]
Makes an API key and prints it, once: only its hash is kept.

  --tenant NAME    the tenant that the key belongs to; made if there is none of that name
  --platform       a key of the platform, for the listener of the platform: scope listeners:run
  --name NAME      what the key is for
  --scopes A,B     of ${SCOPES.join(', ')}; default: ${TENANT_SCOPES.join(', ')}
                   (--platform: listeners:run); admin reaches every tenant, so it is only given when named
  --json           print {"api_key", "api_key_id", "tenant_id", "scopes"} instead of a sentence

${ROTATE_HELP}`;

interface KeyRequest {
  tenant: string | null;
  name: string;
  scopes: Scope[];
  json: boolean;
}

function parseScopes(text: string | undefined, fallback: readonly Scope[]): Scope[] {
  if (text === undefined) return [...fallback];
  return text.split(',').map((word) => {
    const found = SCOPES.find((scope) => scope === word.trim());
    if (found === undefined) throw new UsageError(`--scopes: "${word}" is none of ${SCOPES.join(', ')}`);
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
      json: { type: 'boolean', default: false },
    },
  });
  if ((values.tenant === undefined) !== values.platform) {
    throw new UsageError('name the tenant with --tenant NAME, or say --platform');
  }
  if (values.name === undefined || values.name.trim() === '') throw new UsageError('--name is missing');
  const scopes = parseScopes(values.scopes, values.platform ? ['listeners:run'] : TENANT_SCOPES);
  return { tenant: values.tenant ?? null, name: values.name, scopes, json: values.json };
}

/**
 * `berth keys create …`, `berth keys rotate-encryption …`
 * @throws UsageError, StoreError
 */
export async function keysCommand(config: Config, logger: Logger, args: readonly string[]): Promise<void> {
  const [verb, ...rest] = args;
  if (verb === 'rotate-encryption') return rotateEncryption(config, logger, rest);
  if (verb !== 'create') throw new UsageError(`berth keys: "${verb ?? ''}" is no command`);
  const request = parseRequest(rest);
  if (config.databaseUrl === null)
    throw new UsageError('DATABASE_URL is not set: the key is kept in that database');
  const database = openDatabase({ url: config.databaseUrl, poolSize: 1, logger });
  try {
    await checkMigrated(database);
    const { key, apiKey } = await database.platform.transaction(async (transaction) => {
      const tenantId = request.tenant === null ? null : (await ensureTenant(transaction, request.tenant)).id;
      return createApiKey(transaction, { tenantId, name: request.name, scopes: request.scopes });
    });
    const answer = { api_key: key, api_key_id: apiKey.id, tenant_id: apiKey.tenantId, scopes: apiKey.scopes };
    console.log(
      request.json
        ? JSON.stringify(answer)
        : `${key}\nKeep it: it is not shown again. Tenant ${apiKey.tenantId ?? '(platform)'}, scopes ${apiKey.scopes.join(', ')}.`,
    );
  } finally {
    await database.close();
  }
}
