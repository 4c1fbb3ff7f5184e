import type { Transaction } from '../core/database.ts';
import { and, eq } from '../core/drizzle.ts';
import { type Actor, appendEvents } from '../core/events.ts';
import { deviceLogins, people } from '../core/schema.ts';
import { endSessionsOf } from '../tenancy/sessions.ts';
import { revokeTokensOf } from './access-tokens.ts';

/**
 * Ends all sessions and access tokens of a person in every process, and all logins that the person has approved and that have no
 * token yet. API keys that the person created remain. Platform scope.
 * @param actor the author, for the history
 * @returns false: no such person signed in
 */
export async function endAccessOf(
  transaction: Transaction,
  personId: string,
  actor: Actor,
): Promise<boolean> {
  const { drizzle } = transaction;
  const [person] = await drizzle.select({ name: people.name }).from(people).where(eq(people.id, personId));
  if (person === undefined) return false;
  await drizzle
    .update(deviceLogins)
    .set({ state: 'denied' })
    .where(and(eq(deviceLogins.personId, personId), eq(deviceLogins.state, 'approved')));
  const sessions = await endSessionsOf(transaction, { personId });
  const tokens = await revokeTokensOf(transaction, personId, actor);
  const message = `All sessions and access tokens of ${person.name} were ended.`;
  const details = { person_id: personId, sessions, tokens };
  await appendEvents(transaction, [{ tenantId: null, actor, reason: 'SignedOut', message, details }]);
  return true;
}
