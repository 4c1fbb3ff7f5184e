import {
  answerPoll,
  DEVICE_LOGIN_SECONDS,
  newDeviceCode,
  newUserCode,
  POLL_SECONDS,
  type PollAnswer,
  personTokenEnd,
} from '../../../domain/access/device-login.ts';
import type { Role } from '../../../domain/access/roles.ts';
import { uuidv7 } from '../../../domain/core/id.ts';
import type { Reader, Transaction } from '../core/database.ts';
import { and, count, eq, gt, sql } from '../core/drizzle.ts';
import type { Actor } from '../core/events.ts';
import { deviceLogins, people } from '../core/schema.ts';
import { hashOfSecret } from '../tenancy/sessions.ts';
import { type AccessToken, createAccessToken, revokeAccessToken } from './access-tokens.ts';

/** Logins of the device grant. All functions need the scope of the platform. */

export type StoredDeviceLogin = typeof deviceLogins.$inferSelect;

/** Maximum number of logins that wait at the same time, so that untrusted clients cannot fill the table. */
const MAX_WAITING = 10_000;

const seconds = (time: number) => sql`now() + make_interval(secs => ${time})`;

export interface NewDeviceLogin {
  readonly machine: string;
  readonly address: string;
  readonly requestedTenant: string | null;
  readonly requestedRole: Role | null;
}

/**
 * Starts a login.
 * @returns the codes; null: too many logins are waiting
 * @throws UniqueViolation when a user code is taken; another attempt uses another code
 */
export async function startDeviceLogin(
  transaction: Transaction,
  added: NewDeviceLogin,
): Promise<{ deviceCode: string; userCode: string } | null> {
  const [waiting] = await transaction.drizzle
    .select({ logins: count() })
    .from(deviceLogins)
    .where(gt(deviceLogins.expiresAt, sql`now()`));
  if ((waiting?.logins ?? 0) >= MAX_WAITING) return null;
  const [deviceCode, userCode] = [newDeviceCode(), newUserCode()];
  await transaction.drizzle.insert(deviceLogins).values({
    ...added,
    id: uuidv7(),
    hash: hashOfSecret(deviceCode),
    userCode,
    pollSeconds: POLL_SECONDS,
    expiresAt: seconds(DEVICE_LOGIN_SECONDS),
  });
  return { deviceCode, userCode };
}

/** A login that a person can decide; null: no such login waits. */
export async function findWaitingLogin(reader: Reader, userCode: string): Promise<StoredDeviceLogin | null> {
  const [found] = await reader.drizzle
    .select()
    .from(deviceLogins)
    .where(
      and(
        eq(deviceLogins.userCode, userCode),
        eq(deviceLogins.state, 'pending'),
        gt(deviceLogins.expiresAt, sql`now()`),
      ),
    );
  return found ?? null;
}

/** What a person decided about a login. */
export type DeviceDecision =
  | { readonly state: 'denied' }
  | { readonly state: 'approved'; readonly tenantId: string | null; readonly roles: readonly Role[] };

/** Stores the decision of a person; false: no such login waits. The first decision applies. */
export async function decideDeviceLogin(
  transaction: Transaction,
  userCode: string,
  personId: string,
  decision: DeviceDecision,
): Promise<boolean> {
  const approved =
    decision.state === 'approved' ? { tenantId: decision.tenantId, roles: [...decision.roles] } : {};
  const decided = await transaction.drizzle
    .update(deviceLogins)
    .set({ state: decision.state, personId, ...approved })
    .where(
      and(
        eq(deviceLogins.userCode, userCode),
        eq(deviceLogins.state, 'pending'),
        gt(deviceLogins.expiresAt, sql`now()`),
      ),
    )
    .returning({ id: deviceLogins.id });
  return decided.length > 0;
}

/** The answer to a poll. `unknown`: no login has this device code. */
export type DevicePoll =
  | Exclude<PollAnswer, { kind: 'granted' }>
  | { readonly kind: 'unknown' }
  | { readonly kind: 'granted'; readonly token: string; readonly accessToken: AccessToken };

/**
 * Creates the token of an approved login. Its author is the person who approved it.
 * @returns null: the sign-in of the person was too long ago
 */
async function redeem(
  transaction: Transaction,
  { id, personId, tenantId, roles, machine }: StoredDeviceLogin,
  maxSeconds: number,
) {
  if (personId === null) throw new Error('failed to create the token of a login: no person has approved it');
  const [person] = await transaction.drizzle
    .select({ name: people.name, signedInAt: people.signedInAt })
    .from(people)
    .where(eq(people.id, personId));
  if (person === undefined)
    throw new Error('failed to create the token of a login: its person was not found');
  const expiresAt = personTokenEnd(new Date(), person.signedInAt, maxSeconds);
  if (expiresAt === null) return null;
  const actor: Actor = { kind: 'person', id: personId, name: person.name };
  const made = await createAccessToken(
    transaction,
    { kind: 'person', tenantId, personId, name: machine, rule: null, roles: roles ?? [], expiresAt },
    () => actor,
  );
  const used = { state: 'used', tokenId: made.accessToken.id } as const;
  await transaction.drizzle.update(deviceLogins).set(used).where(eq(deviceLogins.id, id));
  return made;
}

const REPLAY: Actor = { kind: 'system', name: 'replayed device code' };

/**
 * Answers a poll of the device. The first poll after the approval creates the token. A replay revokes it, because someone
 * else has the device code.
 * @param maxSeconds time after which a session of a person ends, even if it is in use
 */
export async function pollDeviceLogin(
  transaction: Transaction,
  deviceCode: string,
  maxSeconds: number,
): Promise<DevicePoll> {
  const { drizzle } = transaction;
  const ofCode = eq(deviceLogins.hash, hashOfSecret(deviceCode));
  // Polls at the same time do not wait for each other, so that they hold no connections.
  const [login] = await drizzle.select().from(deviceLogins).where(ofCode).for('update', { skipLocked: true });
  if (login === undefined) {
    const { pollSeconds } = deviceLogins;
    const [locked] = await drizzle.select({ pollSeconds }).from(deviceLogins).where(ofCode);
    return locked === undefined ? { kind: 'unknown' } : { kind: 'slow_down', ...locked };
  }
  const answer = answerPoll(login, new Date());
  if (answer.kind === 'granted') {
    const made = await redeem(transaction, login, maxSeconds);
    return made === null ? { kind: 'expired_token' } : { kind: 'granted', ...made };
  }
  if (answer.kind === 'replayed' && login.tokenId !== null)
    await revokeAccessToken(transaction, { of: 'platform' }, login.tokenId, REPLAY);
  if (answer.kind === 'authorization_pending' || answer.kind === 'slow_down') {
    const slower = answer.kind === 'slow_down' ? { pollSeconds: answer.pollSeconds } : {};
    await drizzle
      .update(deviceLogins)
      .set({ polledAt: sql`now()`, ...slower })
      .where(eq(deviceLogins.id, login.id));
  }
  return answer;
}
