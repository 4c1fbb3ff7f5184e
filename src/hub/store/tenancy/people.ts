import type { PersonIdentity } from '../../../domain/access/person-claims.ts';
import { uuidv7 } from '../../../domain/core/id.ts';
import type { Reader, Transaction } from '../core/database.ts';
import { and, eq, inArray, or, sql } from '../core/drizzle.ts';
import { people, tenants } from '../core/schema.ts';

/** People who signed in. */

/**
 * Stores what the identity provider states about a person. The id of a known person does not change. Platform scope.
 */
export async function recordPerson(
  transaction: Transaction,
  { issuer, subject, name, groups }: Pick<PersonIdentity, 'issuer' | 'subject' | 'name' | 'groups'>,
): Promise<{ id: string; name: string }> {
  const stated = { name, groups: [...groups], signedInAt: sql`now()` };
  const [person] = await transaction.drizzle
    .insert(people)
    .values({ id: uuidv7(), issuer, subject, ...stated })
    .onConflictDoUpdate({ target: [people.issuer, people.subject], set: stated })
    .returning({ id: people.id, name: people.name });
  if (person === undefined) throw new Error('failed to record a person: the statement returned no row');
  return person;
}

/**
 * Stores the name and the groups of a person who signed in before, without a sign-in. Platform scope.
 * @returns null: no such person signed in
 */
export async function updatePerson(
  transaction: Transaction,
  { issuer, subject, name, groups }: Pick<PersonIdentity, 'issuer' | 'subject' | 'name' | 'groups'>,
): Promise<{ id: string; name: string } | null> {
  const [person] = await transaction.drizzle
    .update(people)
    .set({ name, groups: [...groups] })
    .where(and(eq(people.issuer, issuer), eq(people.subject, subject)))
    .returning({ id: people.id, name: people.name });
  return person ?? null;
}

/** The tenants with one of these ids or names. Platform scope. */
export function findTenantsOf(
  reader: Reader,
  { ids, names }: { readonly ids: readonly string[]; readonly names: readonly string[] },
): Promise<{ id: string; name: string }[]> {
  return reader.drizzle
    .select({ id: tenants.id, name: tenants.name })
    .from(tenants)
    .where(or(inArray(tenants.id, [...ids]), inArray(tenants.name, [...names])));
}
