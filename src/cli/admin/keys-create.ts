import type { z } from 'zod';
import { apiKeyNameSchema } from '../../domain/core/api-key.ts';
import { type Scope, TENANT_SCOPES } from '../../domain/core/scopes.ts';
import { tenantNameSchema } from '../../domain/core/tenant-name.ts';
import { createApiKey } from '../../hub/store/tenancy/api-keys.ts';
import { ensureTenant } from '../../hub/store/tenancy/tenants.ts';
import { type Format, printed } from '../command/output.ts';
import { UsageError } from '../command/usage-error.ts';
import { withDatabase } from './database.ts';
import type { AdminSession } from './session.ts';

/** `berth keys create`. */

/** The author of the change in the history. */
const ACTOR = { kind: 'system', name: 'berth keys create' } as const;

/** The options of the command. */
export interface KeyOptions {
  readonly tenant?: string;
  readonly platform?: boolean;
  readonly name: string;
  readonly scopes?: Scope[];
  readonly expires?: Date;
  readonly output: Format;
}

interface KeyRequest {
  readonly tenant: string | null;
  readonly name: string;
  readonly scopes: Scope[];
  /** null: never. */
  readonly expiresAt: Date | null;
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

function parseRequest({ tenant, platform = false, ...options }: KeyOptions): KeyRequest {
  if ((tenant === undefined) !== platform) throw new UsageError('set either --tenant NAME or --platform');
  const name = parseName(options.name);
  const scopes = options.scopes ?? [...(platform ? (['listeners:run'] as const) : TENANT_SCOPES)];
  const expiresAt = options.expires ?? null;
  // The name is only validated here. The store looks up the tenant by the name as written, and normalizes the name of a
  // new tenant.
  if (tenant !== undefined) parseBy(tenantNameSchema, '--tenant', tenant);
  return { tenant: tenant ?? null, name, scopes, expiresAt };
}

/**
 * Creates a key and prints it.
 * @throws UsageError, StoreError
 */
export async function createKey(session: AdminSession, options: KeyOptions): Promise<void> {
  const request = parseRequest(options);
  await withDatabase(session, 'the key is stored in that database', async (database) => {
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
    await printed(options.output, answer, { table: () => text });
  });
}
