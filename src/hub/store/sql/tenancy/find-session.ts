import type { Scope } from '../../../../domain/core/scopes.ts';
import { type Statement, statement } from '../../core/statement.ts';

/** A valid session with the person or the API key that it belongs to. */
export interface SessionRow {
  readonly id: string;
  readonly expiresAt: Date;
  /** Whether the time of the last use must be written again. */
  readonly needsTouch: boolean;
  readonly personId: string | null;
  readonly issuer: string | null;
  readonly personName: string | null;
  readonly groups: string[] | null;
  readonly keyId: string | null;
  readonly keyName: string | null;
  readonly keyScopes: Scope[] | null;
  readonly keyExpiresAt: Date | null;
  readonly keyTenantId: string | null;
}

/**
 * A session is valid until it ends, is idle for too long, or its API key is revoked or expires. Each request of a
 * browser runs this statement, so that a sign-out acts at once in every process.
 */
const text = (condition: string) => `SELECT s.id, s.expires_at AS "expiresAt",
  s.last_used_at < now() - interval '1 minute' AS "needsTouch",
  p.id AS "personId", p.issuer, p.name AS "personName", p.groups,
  k.id AS "keyId", k.name AS "keyName", k.scopes AS "keyScopes", k.expires_at AS "keyExpiresAt",
  k.tenant_id AS "keyTenantId"
FROM sessions s LEFT JOIN people p ON p.id = s.person_id LEFT JOIN api_keys k ON k.id = s.api_key_id
WHERE ${condition} AND s.ended_at IS NULL AND s.expires_at > now()
  AND s.last_used_at > now() - :idleSeconds::int * interval '1 second'
  AND (s.api_key_id IS NULL OR (k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > now())))`;

export const findSessionByHashStatement: Statement<{ hash: string; idleSeconds: number }, SessionRow> =
  statement('find_session_by_hash', text('s.hash = :hash'));

export const findSessionByIdStatement: Statement<{ id: string; idleSeconds: number }, SessionRow> = statement(
  'find_session_by_id',
  text('s.id = :id::uuid'),
);
