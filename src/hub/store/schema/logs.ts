import type { BuildLogLine } from '../../../domain/builds/build-log.ts';
import type { LogAbility, LogQuery } from '../../../domain/core/log-query.ts';
import {
  boolean,
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
import { ofDeployment, revisions } from './deployments.ts';
import { listeners } from './listeners.ts';
import { integrations, ofTenant } from './tenancy.ts';

/** What a listener reads for a client. */
export type ReadKindOfRequest = 'logs' | 'objects';

const time = (name: string) => timestamp(name, { withTimezone: true });

/**
 * Lines of builds, in pieces as they arrived. A piece begins where the previous piece ends, which identifies repeated
 * pieces.
 */
export const buildLogs = pgTable(
  'build_logs',
  {
    tenantId: ofTenant(),
    revisionId: uuid('revision_id')
      .notNull()
      .references(() => revisions.id, { onDelete: 'cascade' }),
    /** Number of the first line of the piece within the build, counted from 0. */
    firstLine: integer('first_line').notNull(),
    /** Lines of the piece. Empty: the attempt and its log have ended. */
    lines: jsonb().$type<readonly BuildLogLine[]>().notNull(),
  },
  (table) => [primaryKey({ columns: [table.revisionId, table.firstLine] })],
);

/** Accepted webhook deliveries, so that a repeated delivery has no effect. The rows are kept for some days. */
export const webhookDeliveries = pgTable(
  'webhook_deliveries',
  {
    tenantId: ofTenant(),
    integrationId: uuid('integration_id')
      .notNull()
      .references(() => integrations.id, { onDelete: 'cascade' }),
    /** The git host's id of the delivery. */
    deliveryId: text('delivery_id').notNull(),
    receivedAt: time('received_at').notNull().defaultNow(),
  },
  (table) => [
    primaryKey({ columns: [table.integrationId, table.deliveryId] }),
    index('webhook_deliveries_by_age').on(table.receivedAt),
    // An index of rows that expire sooner than the hashes.
    index('webhook_deliveries_of_ids')
      .on(table.receivedAt)
      .where(sql`${table.deliveryId} NOT LIKE 'sha256:%'`),
  ],
);

/**
 * Workload logs, and objects of deployments, that readers are waiting for. Each row is work for the listener and expires
 * within minutes.
 */
export const logRequests = pgTable(
  'log_requests',
  {
    id: uuid().primaryKey(),
    tenantId: ofTenant(),
    deploymentId: ofDeployment(),
    listenerId: uuid('listener_id')
      .notNull()
      .references(() => listeners.id, { onDelete: 'cascade' }),
    /** What is read: logs, or objects of the deployment. */
    kind: text().$type<ReadKindOfRequest>().notNull().default('logs'),
    /** An ObjectQuery if `kind` is objects. */
    query: jsonb().$type<LogQuery>().notNull(),
    /**
     * Objects only: whether no listener has the request yet. Such requests count as taken, because older hubs hand out every
     * request that is not taken as one for logs.
     */
    awaitsListener: boolean('awaits_listener').notNull().default(false),
    /** Whether the listener has the request. true from the beginning if the request needs a feature; see `needs`. */
    taken: boolean().notNull().default(false),
    /**
     * The feature that the listener must support, until the request is handed out; null: no feature. Requests that need
     * a feature count as taken, because older hubs hand out requests that are not taken to any listener.
     */
    needs: text().$type<LogAbility>(),
    /** X-Request-Id of the reader's request. */
    httpRequestId: text('http_request_id'),
    /** Expiry time, which the reader renews while it is connected. After this time, no reader waits for the lines. */
    expiresAt: time('expires_at').notNull(),
  },
  (table) => [
    index('log_requests_by_listener').on(table.listenerId),
    index('log_requests_by_expiry').on(table.expiresAt),
    // A request is deleted with its deployment.
    index('log_requests_by_deployment').on(table.deploymentId),
  ],
);

/** The lines that the listener read for a log request, until the reader takes them. */
export const logChunks = pgTable(
  'log_chunks',
  {
    tenantId: ofTenant(),
    requestId: uuid('request_id')
      .notNull()
      .references(() => logRequests.id, { onDelete: 'cascade' }),
    /** Counts from 1. */
    seq: integer().notNull(),
    /** JSON of the lines. */
    body: text().notNull(),
    /** Whether no chunk follows. */
    last: boolean().notNull().default(false),
  },
  (table) => [primaryKey({ columns: [table.requestId, table.seq] })],
);
