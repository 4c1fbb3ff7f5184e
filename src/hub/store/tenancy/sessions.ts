import { hash, randomBytes } from 'node:crypto';
import { uuidv7 } from '../../../domain/core/id.ts';
import { ACCESS_CHANNEL } from '../core/channels.ts';
import type { Reader, Transaction } from '../core/database.ts';
import { and, desc, eq, isNull, sql } from '../core/drizzle.ts';
import { sessions } from '../core/schema.ts';
import {
  findSessionByHashStatement,
  findSessionByIdStatement,
  type SessionRow,
} from '../sql/tenancy/find-session.ts';

export type { SessionRow };

/** Sessions of browsers. All functions need the scope of the platform. */

const ID_BYTES = 32;
/** The form of the value of a cookie: 32 bytes in base64url. */
const GENERATED = /^[A-Za-z0-9_-]{43}$/;
/** Maximum number of sessions of one person or key. A new one ends the oldest. */
const MAX_SESSIONS = 20;

/** The stored form of a random value of 256 bits. */
export const hashOfSecret = (secret: string): string => hash('sha256', secret, 'hex');

/** The person or the API key that a session belongs to. */
export type SessionOwner = { readonly personId: string } | { readonly apiKeyId: string };

export interface NewSession {
  readonly owner: SessionOwner;
  /** Lifetime in seconds. */
  readonly seconds: number;
  /** When the API key of the session expires; null or absent: never. */
  readonly notAfter?: Date | null;
  /** State of the sign-in; absent: the session comes from an API key. */
  readonly state?: string;
}

const ownedBy = (owner: SessionOwner) =>
  'personId' in owner ? eq(sessions.personId, owner.personId) : eq(sessions.apiKeyId, owner.apiKeyId);

/**
 * Creates a session with a new random id.
 * @returns the value of the cookie, which is not stored
 * @throws UniqueViolation `sessions_state_hash` when the answer of the sign-in was used before
 */
export async function createSession(
  transaction: Transaction,
  { owner, seconds, notAfter = null, state }: NewSession,
): Promise<{ id: string; secret: string; expiresAt: Date }> {
  const secret = randomBytes(ID_BYTES).toString('base64url');
  const lifetime = sql`now() + ${seconds}::int * interval '1 second'`;
  const [session] = await transaction.drizzle
    .insert(sessions)
    .values({
      id: uuidv7(),
      hash: hashOfSecret(secret),
      ...owner,
      stateHash: state === undefined ? null : hashOfSecret(state),
      expiresAt: sql`least(${lifetime}, ${notAfter?.toISOString() ?? null}::timestamptz)`,
    })
    .returning({ id: sessions.id, expiresAt: sessions.expiresAt });
  if (session === undefined) throw new Error('failed to create a session: the statement returned no row');
  await endOldest(transaction, owner);
  return { ...session, secret };
}

async function endOldest(transaction: Transaction, owner: SessionOwner): Promise<void> {
  const { drizzle } = transaction;
  const live = and(ownedBy(owner), isNull(sessions.endedAt), sql`${sessions.expiresAt} > now()`);
  const surplus = await drizzle
    .select({ id: sessions.id })
    .from(sessions)
    .where(live)
    .orderBy(desc(sessions.id))
    .offset(MAX_SESSIONS);
  for (const { id } of surplus) await endSession(transaction, id);
}

/**
 * The session of a cookie, if it is valid.
 * @param idleSeconds time without a request after which a session ends
 */
export async function findSession(
  reader: Reader,
  secret: string,
  idleSeconds: number,
): Promise<SessionRow | null> {
  if (!GENERATED.test(secret)) return null;
  const [session] = await reader.run(findSessionByHashStatement, { hash: hashOfSecret(secret), idleSeconds });
  return session ?? null;
}

/** The session with this id, if it is valid. */
export async function findSessionById(
  reader: Reader,
  id: string,
  idleSeconds: number,
): Promise<SessionRow | null> {
  const [session] = await reader.run(findSessionByIdStatement, { id, idleSeconds });
  return session ?? null;
}

/** Records that the session is in use. */
export async function touchSession(transaction: Transaction, id: string): Promise<void> {
  await transaction.drizzle
    .update(sessions)
    .set({ lastUsedAt: sql`now()` })
    .where(and(eq(sessions.id, id), isNull(sessions.endedAt)));
}

/** Ends a session in every process. A repeated call has no effect. */
export async function endSession(transaction: Transaction, id: string): Promise<void> {
  const ended = await transaction.drizzle
    .update(sessions)
    .set({ endedAt: sql`now()` })
    .where(and(eq(sessions.id, id), isNull(sessions.endedAt)))
    .returning({ id: sessions.id });
  for (const session of ended) await notifyAccess(transaction, session.id);
}

/** Ends all sessions of a person or an API key. @returns the number of sessions that ended */
export async function endSessionsOf(transaction: Transaction, owner: SessionOwner): Promise<number> {
  const ended = await transaction.drizzle
    .update(sessions)
    .set({ endedAt: sql`now()` })
    .where(and(ownedBy(owner), isNull(sessions.endedAt)))
    .returning({ id: sessions.id });
  for (const session of ended) await notifyAccess(transaction, session.id);
  return ended.length;
}

/** Tells all processes, at commit, that a credential may have lost its rights. @param id of the session, token or key */
export async function notifyAccess(transaction: Transaction, id: string): Promise<void> {
  await transaction.query('SELECT pg_notify($1, $2)', [ACCESS_CHANNEL, id]);
}
