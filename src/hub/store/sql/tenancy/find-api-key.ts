import { apiKeys } from '../../core/schema.ts';
import { type Columns, columns, statement } from '../../core/statement.ts';

/** The columns of a key in responses. */
export const API_KEY_COLUMNS = [
  'id',
  'tenantId',
  'name',
  'prefix',
  'scopes',
  'createdAt',
  'expiresAt',
  'revokedAt',
  'lastUsedAt',
] as const;

/** The key with this hash, unless it was revoked or has expired. Each request with a key runs this statement. */
export const findApiKeyStatement = statement<
  { hash: string },
  Columns<typeof apiKeys, (typeof API_KEY_COLUMNS)[number]>
>(
  'find_api_key',
  `SELECT ${columns(apiKeys, 'k', API_KEY_COLUMNS)} FROM api_keys k
WHERE hash = :hash AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now())`,
);
