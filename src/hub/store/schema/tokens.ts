import type { TokenKind } from '../../../domain/access/access-token.ts';
import type { DeviceState } from '../../../domain/access/device-login.ts';
import type { Role } from '../../../domain/access/roles.ts';
import { index, integer, pgTable, text, timestamp, uuid } from '../core/drizzle.ts';
import { people } from './sessions.ts';
import { tenants } from './tenancy.ts';

const time = (name: string) => timestamp(name, { withTimezone: true });

/** Access tokens of people and workloads. The token itself is sent once and never stored. */
export const accessTokens = pgTable(
  'access_tokens',
  {
    id: uuid().primaryKey(),
    /** null: a token of the platform, with the role platform_admin. */
    tenantId: uuid('tenant_id').references(() => tenants.id, { onDelete: 'cascade' }),
    kind: text().$type<TokenKind>().notNull(),
    /** The person of the token; null: a workload. */
    personId: uuid('person_id').references(() => people.id, { onDelete: 'cascade' }),
    /** The machine of a login, or the subject of a workload. */
    name: text().notNull(),
    /** The rule of the policy that a workload met (domain/access/workload-verifier.ts, ruleId); null: a person. */
    rule: text(),
    roles: text().array().$type<Role[]>().notNull(),
    /** First characters of the token, to identify it in lists. */
    prefix: text().notNull(),
    /** SHA-256 of the token, hexadecimal. The token has 256 random bits. */
    hash: text().notNull().unique('access_tokens_hash'),
    createdAt: time('created_at').notNull().defaultNow(),
    expiresAt: time('expires_at').notNull(),
    revokedAt: time('revoked_at'),
    /** Approximate time of the last use, written at most once an hour. */
    lastUsedAt: time('last_used_at'),
  },
  (table) => [
    index('access_tokens_by_tenant').on(table.tenantId, table.id),
    index('access_tokens_by_person').on(table.personId, table.id),
    index('access_tokens_by_expiry').on(table.expiresAt),
  ],
);

/** Logins of `berth login` that wait for a person, or that were decided within the last minutes. */
export const deviceLogins = pgTable(
  'device_logins',
  {
    id: uuid().primaryKey(),
    /** SHA-256 of the device code, hexadecimal. */
    hash: text().notNull().unique('device_logins_hash'),
    /** What the person types. It has no effect without a session. */
    userCode: text('user_code').notNull().unique('device_logins_user_code'),
    state: text().$type<DeviceState>().notNull().default('pending'),
    /** Name of the machine, as the machine states it. */
    machine: text().notNull(),
    /** Address that started the login. */
    address: text().notNull(),
    /** Requested tenant, as the machine states it. */
    requestedTenant: text('requested_tenant'),
    requestedRole: text('requested_role').$type<Role>(),
    /** Set when the login is approved: the person, and what the token may do. */
    personId: uuid('person_id').references(() => people.id, { onDelete: 'cascade' }),
    /** null with the state approved: the platform. */
    tenantId: uuid('tenant_id').references(() => tenants.id, { onDelete: 'cascade' }),
    roles: text().array().$type<Role[]>(),
    /** The token that the device received. */
    tokenId: uuid('token_id').references(() => accessTokens.id, { onDelete: 'cascade' }),
    pollSeconds: integer('poll_seconds').notNull(),
    polledAt: time('polled_at'),
    createdAt: time('created_at').notNull().defaultNow(),
    expiresAt: time('expires_at').notNull(),
  },
  (table) => [index('device_logins_by_expiry').on(table.expiresAt)],
);
