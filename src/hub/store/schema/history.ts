import type { Reason } from '../../../domain/conditions/conditions.ts';
import { index, integer, jsonb, pgTable, primaryKey, text, timestamp, uuid } from '../core/drizzle.ts';
import { tenants } from './tenancy.ts';

/** Append-only history: who changed what, every change of state with its reason. Never a secret. Outlives the deployment. */
export const events = pgTable(
  'events',
  {
    id: uuid().primaryKey(),
    /** null: of the platform, as the loss of its listener. No foreign key: who deleted a tenant must stay known. */
    tenantId: uuid('tenant_id'),
    deploymentId: uuid('deployment_id'),
    revisionId: uuid('revision_id'),
    listenerId: uuid('listener_id'),
    at: timestamp({ withTimezone: true }).notNull().defaultNow(),
    actorKind: text('actor_kind').$type<'api_key' | 'listener' | 'system'>().notNull(),
    actorId: uuid('actor_id'),
    actorName: text('actor_name'),
    reason: text().$type<Reason>().notNull(),
    message: text().notNull(),
    details: jsonb().$type<Record<string, unknown>>().notNull().default({}),
  },
  (table) => [
    index('events_by_deployment').on(table.deploymentId, table.id),
    index('events_by_tenant').on(table.tenantId, table.id),
  ],
);

/** Answers to requests with an Idempotency-Key: what is needed to render the answer again, no body, no secret. */
export const idempotencyKeys = pgTable(
  'idempotency_keys',
  {
    tenantId: uuid('tenant_id')
      .notNull()
      .references(() => tenants.id, { onDelete: 'cascade' }),
    key: text().notNull(),
    /** Method and path. */
    operation: text().notNull(),
    /** Keyed hash of the body (secret-box.ts): the body holds secrets. */
    fingerprint: text().notNull(),
    statusCode: integer('status_code').notNull(),
    deploymentId: uuid('deployment_id').notNull(),
    /** The revision that was made, where that is what the operation answers. */
    revisionId: uuid('revision_id'),
    createdAt: timestamp('created_at', { withTimezone: true }).notNull().defaultNow(),
    expiresAt: timestamp('expires_at', { withTimezone: true }).notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.tenantId, table.key, table.operation] }),
    index('idempotency_keys_by_expiry').on(table.expiresAt),
  ],
);

/**
 * Messages to systems outside, sent at least once, one after the other of one subject (outbox.ts).
 */
export const outbox = pgTable(
  'outbox',
  {
    id: uuid().primaryKey(),
    /** No foreign key: what a deleted tenant leaves at systems outside must still be told. */
    tenantId: uuid('tenant_id').notNull(),
    kind: text().$type<OutboxKind>().notNull(),
    /** What the message is about, such as the tracing project's id. */
    subjectId: uuid('subject_id').notNull(),
    payload: jsonb().$type<Record<string, unknown>>().notNull(),
    /** Raised when an attempt begins. */
    attempts: integer().notNull().default(0),
    /** While an attempt is under way: when another process may take it over. */
    nextAttemptAt: timestamp('next_attempt_at', { withTimezone: true }).notNull().defaultNow(),
    /** Why the last attempt failed; never an answer's body. */
    lastError: text('last_error'),
    createdAt: timestamp('created_at', { withTimezone: true }).notNull().defaultNow(),
  },
  (table) => [
    index('outbox_due').on(table.nextAttemptAt),
    index('outbox_by_subject').on(table.subjectId, table.id),
  ],
);

export type OutboxKind = 'tracing_project.created' | 'tracing_project.deleted';
