import type { Reason } from '../../../domain/conditions/conditions.ts';
import {
  bigint,
  index,
  integer,
  jsonb,
  pgTable,
  primaryKey,
  sql,
  text,
  timestamp,
  uuid,
} from '../core/drizzle.ts';
import { tenants } from './tenancy.ts';

/**
 * Append-only history, with the author of each change, and the reason of each change of status. The history never
 * contains a secret, and outlives the deployment.
 */
export const events = pgTable(
  'events',
  {
    id: uuid().primaryKey(),
    /**
     * null: an event of the platform, such as the loss of its listener. The column has no foreign key, so that the
     * deletion of a tenant remains recorded.
     */
    tenantId: uuid('tenant_id'),
    deploymentId: uuid('deployment_id'),
    revisionId: uuid('revision_id'),
    listenerId: uuid('listener_id'),
    at: timestamp({ withTimezone: true }).notNull().defaultNow(),
    actorKind: text('actor_kind')
      .$type<'api_key' | 'person' | 'workload' | 'listener' | 'system'>()
      .notNull(),
    actorId: uuid('actor_id'),
    actorName: text('actor_name'),
    reason: text().$type<Reason>().notNull(),
    message: text().notNull(),
    details: jsonb().$type<Record<string, unknown>>().notNull().default({}),
    /**
     * The order in which followers read events (docs/decisions/0080). The database assigns it. 0: the event is from a
     * version without positions.
     */
    position: bigint({ mode: 'number' }).notNull().default(sql`berth_event_position()`),
  },
  (table) => [
    index('events_by_deployment').on(table.deploymentId, table.id),
    index('events_by_tenant').on(table.tenantId, table.id),
    index('events_by_position').on(table.position, table.id),
    index('events_by_tenant_position').on(table.tenantId, table.position, table.id),
    // Without these indexes, a query of a reason that a tenant rarely has reads the whole history of the tenant.
    index('events_by_tenant_reason').on(table.tenantId, table.reason, table.id),
    index('events_by_tenant_reason_position').on(table.tenantId, table.reason, table.position, table.id),
  ],
);

/** Responses to requests with an Idempotency-Key: the data to render the response again, without body and secrets. */
export const idempotencyKeys = pgTable(
  'idempotency_keys',
  {
    tenantId: uuid('tenant_id')
      .notNull()
      .references(() => tenants.id, { onDelete: 'cascade' }),
    key: text().notNull(),
    /** Method and path of the request. */
    operation: text().notNull(),
    /** Keyed hash of the body (secret-box.ts), because the body contains secrets. */
    fingerprint: text().notNull(),
    statusCode: integer('status_code').notNull(),
    deploymentId: uuid('deployment_id').notNull(),
    /** The created revision or task, if the response contains one. */
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
 * Messages to external systems. Each message is sent at least once, and the messages of one subject are sent in order
 * (outbox.ts).
 */
export const outbox = pgTable(
  'outbox',
  {
    id: uuid().primaryKey(),
    /** The column has no foreign key, because external systems must be notified after the deletion of a tenant. */
    tenantId: uuid('tenant_id').notNull(),
    kind: text().$type<OutboxKind>().notNull(),
    /** The subject of the message, such as the tracing project's id. */
    subjectId: uuid('subject_id').notNull(),
    payload: jsonb().$type<Record<string, unknown>>().notNull(),
    /** Number of attempts, incremented when an attempt begins. */
    attempts: integer().notNull().default(0),
    /** During an attempt, the time at which another process may take over. */
    nextAttemptAt: timestamp('next_attempt_at', { withTimezone: true }).notNull().defaultNow(),
    /** Why the last attempt failed. The text never contains the body of a response. */
    lastError: text('last_error'),
    createdAt: timestamp('created_at', { withTimezone: true }).notNull().defaultNow(),
  },
  (table) => [
    index('outbox_due').on(table.nextAttemptAt),
    index('outbox_by_subject').on(table.subjectId, table.id),
  ],
);

export type OutboxKind = 'tracing_project.created' | 'tracing_project.deleted';

/**
 * Processes of the API that have streams of changes. Triggers send notifications of changes only to them (migrations 0020
 * and 0021).
 */
export const changeWatchers = pgTable('change_watchers', {
  /** Id of the process. */
  id: uuid().primaryKey(),
  /** Expiry time, which the process renews while it has streams. */
  expiresAt: timestamp('expires_at', { withTimezone: true }).notNull(),
  /**
   * A random id that the last sweep of the process has written; null: no sweep since the row exists. A process that finds
   * another one continues on another history of the database (hub/store/events/change-sweep.ts).
   */
  mark: uuid(),
});

/** The tenants of the streams of a process. Changes of other tenants send no notifications (migration 0021). */
export const watchedTenants = pgTable(
  'watched_tenants',
  {
    tenantId: uuid('tenant_id').notNull(),
    watcherId: uuid('watcher_id')
      .notNull()
      .references(() => changeWatchers.id, { onDelete: 'cascade' }),
  },
  (table) => [
    primaryKey({ columns: [table.tenantId, table.watcherId] }),
    index('watched_tenants_of_watcher').on(table.watcherId),
  ],
);
