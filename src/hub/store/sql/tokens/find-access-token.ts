import { accessTokens } from '../../core/schema.ts';
import { type Columns, columns, type Statement, statement } from '../../core/statement.ts';

/** The columns of a token in responses. */
export const ACCESS_TOKEN_COLUMNS = [
  'id',
  'tenantId',
  'kind',
  'personId',
  'name',
  'rule',
  'roles',
  'prefix',
  'createdAt',
  'expiresAt',
  'revokedAt',
  'lastUsedAt',
] as const;

/** A token with its tenant and its person. */
export interface FoundToken extends Columns<typeof accessTokens, (typeof ACCESS_TOKEN_COLUMNS)[number]> {
  /** null: the platform. */
  readonly tenantName: string | null;
  /** null, as the next two: the token of a workload. */
  readonly personName: string | null;
  readonly issuer: string | null;
  readonly groups: string[] | null;
  /** Whether the time of the last use must be written again. */
  readonly needsTouch: boolean;
}

/** A token is valid until it is revoked or expires. Each request with a token runs this statement. */
const text = (
  condition: string,
) => `SELECT ${columns(accessTokens, 'a', ACCESS_TOKEN_COLUMNS)}, t.name AS "tenantName",
  p.name AS "personName", p.issuer, p.groups,
  coalesce(a.last_used_at < now() - interval '1 hour', true) AS "needsTouch"
FROM access_tokens a LEFT JOIN tenants t ON t.id = a.tenant_id LEFT JOIN people p ON p.id = a.person_id
WHERE ${condition} AND a.revoked_at IS NULL AND a.expires_at > now()`;

export const findTokenByHashStatement: Statement<{ hash: string }, FoundToken> = statement(
  'find_token_by_hash',
  text('a.hash = :hash'),
);

export const findTokenByIdStatement: Statement<{ id: string }, FoundToken> = statement(
  'find_token_by_id',
  text('a.id = :id::uuid'),
);
