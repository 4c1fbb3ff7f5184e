import { index, pgTable, text, timestamp, uniqueIndex, uuid } from '../core/drizzle.ts';
import { apiKeys } from './tenancy.ts';

/** People who signed in, as their identity provider described them at the last sign-in. */
export const people = pgTable(
  'people',
  {
    id: uuid().primaryKey(),
    issuer: text().notNull(),
    /** Identifies the person at the issuer. */
    subject: text().notNull(),
    name: text().notNull(),
    /** Groups at the last sign-in. The policy gives them roles (domain/access/access-policy.ts). */
    groups: text().array().notNull(),
    createdAt: timestamp('created_at', { withTimezone: true }).notNull().defaultNow(),
    signedInAt: timestamp('signed_in_at', { withTimezone: true }).notNull().defaultNow(),
  },
  (table) => [uniqueIndex('people_subject').on(table.issuer, table.subject)],
);

/** Sessions of browsers: of a person, or of an API key that was exchanged. */
export const sessions = pgTable(
  'sessions',
  {
    id: uuid().primaryKey(),
    /** SHA-256 of the value of the cookie, hexadecimal. The value itself is not stored. */
    hash: text().notNull().unique('sessions_hash'),
    personId: uuid('person_id').references(() => people.id, { onDelete: 'cascade' }),
    apiKeyId: uuid('api_key_id').references(() => apiKeys.id, { onDelete: 'cascade' }),
    /** SHA-256 of the state of the sign-in, so that its answer cannot be used twice. */
    stateHash: text('state_hash').unique('sessions_state_hash'),
    createdAt: timestamp('created_at', { withTimezone: true }).notNull().defaultNow(),
    /** End of the session, even if it is in use. */
    expiresAt: timestamp('expires_at', { withTimezone: true }).notNull(),
    /** Approximate time of the last use, written at most once a minute. */
    lastUsedAt: timestamp('last_used_at', { withTimezone: true }).notNull().defaultNow(),
    /** Time of the sign-out. */
    endedAt: timestamp('ended_at', { withTimezone: true }),
  },
  (table) => [
    index('sessions_by_person').on(table.personId),
    index('sessions_by_key').on(table.apiKeyId),
    index('sessions_by_expiry').on(table.expiresAt),
  ],
);
