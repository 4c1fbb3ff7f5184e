import { generateAccessToken, type TokenKind, tokenPrefix } from '../../../domain/access/access-token.ts';
import type { Role } from '../../../domain/access/roles.ts';
import { uuidv7 } from '../../../domain/core/id.ts';
import type { Reader, Transaction } from '../core/database.ts';
import { and, desc, eq, gt, isNull, sql } from '../core/drizzle.ts';
import { type Actor, appendEvents } from '../core/events.ts';
import type { Page } from '../core/records.ts';
import { accessTokens } from '../core/schema.ts';
import {
  type ACCESS_TOKEN_COLUMNS,
  type FoundToken,
  findTokenByHashStatement,
  findTokenByIdStatement,
} from '../sql/tokens/find-access-token.ts';
import { hashOfSecret, notifyAccess } from '../tenancy/sessions.ts';

export type { FoundToken };

/** Access tokens of people and workloads. All functions need the scope of the platform. */

/** A token without its value. */
export type AccessToken = Pick<FoundToken, (typeof ACCESS_TOKEN_COLUMNS)[number]>;

const COLUMNS = {
  id: accessTokens.id,
  tenantId: accessTokens.tenantId,
  kind: accessTokens.kind,
  personId: accessTokens.personId,
  name: accessTokens.name,
  rule: accessTokens.rule,
  roles: accessTokens.roles,
  prefix: accessTokens.prefix,
  createdAt: accessTokens.createdAt,
  expiresAt: accessTokens.expiresAt,
  revokedAt: accessTokens.revokedAt,
  lastUsedAt: accessTokens.lastUsedAt,
};

export interface NewAccessToken {
  readonly kind: TokenKind;
  /** null: the platform. */
  readonly tenantId: string | null;
  /** null: a workload. */
  readonly personId: string | null;
  readonly name: string;
  /** null: a person. */
  readonly rule: string | null;
  readonly roles: readonly Role[];
  readonly expiresAt: Date;
}

/**
 * Stores a token and writes the event. The caller sends the token once and does not store it.
 * @param actorOf the author for the history, from the id of the token
 * @throws ReferenceViolation when the tenant does not exist
 */
export async function createAccessToken(
  transaction: Transaction,
  { roles, ...added }: NewAccessToken,
  actorOf: (tokenId: string) => Actor,
): Promise<{ token: string; accessToken: AccessToken }> {
  const token = generateAccessToken();
  const id = uuidv7();
  const [accessToken] = await transaction.drizzle
    .insert(accessTokens)
    .values({ ...added, id, roles: [...roles], prefix: tokenPrefix(token), hash: hashOfSecret(token) })
    .returning(COLUMNS);
  if (accessToken === undefined)
    throw new Error('failed to create an access token: the statement returned no row');
  const { tenantId, name, rule, expiresAt } = added;
  const details = { token_id: id, kind: added.kind, name, rule, roles, expires_at: expiresAt.toISOString() };
  const message = `An access token was created for ${name}.`;
  const actor = actorOf(id);
  await appendEvents(transaction, [{ tenantId, actor, reason: 'AccessTokenCreated', message, details }]);
  return { token, accessToken };
}

/** The token with this value, if it is valid. */
export async function findToken(reader: Reader, token: string): Promise<FoundToken | null> {
  const [found] = await reader.run(findTokenByHashStatement, { hash: hashOfSecret(token) });
  return found ?? null;
}

/** The token with this id, if it is valid. */
export async function findTokenById(reader: Reader, id: string): Promise<FoundToken | null> {
  const [found] = await reader.run(findTokenByIdStatement, { id });
  return found ?? null;
}

/** Records that the token is in use. */
export async function touchToken(transaction: Transaction, id: string): Promise<void> {
  await transaction.drizzle
    .update(accessTokens)
    .set({ lastUsedAt: sql`now()` })
    .where(eq(accessTokens.id, id));
}

/** Which tokens a caller may list and revoke. */
export type TokenOwner =
  /** tenantId: only tokens of this tenant; null: those of all tenants and of the platform. */
  | { readonly of: 'person'; readonly personId: string; readonly tenantId: string | null }
  | { readonly of: 'token'; readonly tokenId: string }
  | { readonly of: 'tenant'; readonly tenantId: string }
  /** All tokens, including those of the platform. */
  | { readonly of: 'platform' };

function ownedBy(owner: TokenOwner) {
  switch (owner.of) {
    case 'person':
      return and(
        eq(accessTokens.personId, owner.personId),
        owner.tenantId === null ? undefined : eq(accessTokens.tenantId, owner.tenantId),
      );
    case 'token':
      return eq(accessTokens.id, owner.tokenId);
    case 'tenant':
      return eq(accessTokens.tenantId, owner.tenantId);
    case 'platform':
      return undefined;
  }
}

const isValid = () => and(isNull(accessTokens.revokedAt), gt(accessTokens.expiresAt, sql`now()`));

/** Newest first. @param ended whether to include tokens that were revoked or have expired */
export function listAccessTokens(
  reader: Reader,
  owner: TokenOwner,
  { limit, offset }: Page,
  { ended }: { readonly ended: boolean },
): Promise<AccessToken[]> {
  return reader.drizzle
    .select(COLUMNS)
    .from(accessTokens)
    .where(and(ownedBy(owner), ended ? undefined : isValid()))
    .orderBy(desc(accessTokens.id))
    .limit(limit)
    .offset(offset);
}

/**
 * Revokes a token in every process; false: no such token belongs to the owner. A repeated call has no effect.
 * @param actor the author, for the history
 */
export async function revokeAccessToken(
  transaction: Transaction,
  owner: TokenOwner,
  id: string,
  actor: Actor,
): Promise<boolean> {
  const wanted = and(eq(accessTokens.id, id), ownedBy(owner));
  const [revoked] = await transaction.drizzle
    .update(accessTokens)
    .set({ revokedAt: sql`now()` })
    .where(and(wanted, isNull(accessTokens.revokedAt)))
    .returning(COLUMNS);
  if (revoked === undefined) {
    const known = await transaction.drizzle.select({ id: accessTokens.id }).from(accessTokens).where(wanted);
    return known.length > 0;
  }
  await announce(transaction, revoked, actor);
  return true;
}

async function announce(
  transaction: Transaction,
  { id, tenantId, name, kind }: AccessToken,
  actor: Actor,
): Promise<void> {
  await notifyAccess(transaction, id);
  const message = `The access token for ${name} was revoked.`;
  const details = { token_id: id, kind, name };
  await appendEvents(transaction, [{ tenantId, actor, reason: 'AccessTokenRevoked', message, details }]);
}

/**
 * Revokes all tokens of a person in every process.
 * @param actor the author, for the history
 * @returns the number of tokens that were valid
 */
export async function revokeTokensOf(
  transaction: Transaction,
  personId: string,
  actor: Actor,
): Promise<number> {
  const revoked = await transaction.drizzle
    .update(accessTokens)
    .set({ revokedAt: sql`now()` })
    .where(and(eq(accessTokens.personId, personId), isValid()))
    .returning(COLUMNS);
  for (const token of revoked) await announce(transaction, token, actor);
  return revoked.length;
}
