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
import { deployments, revisions } from './deployments.ts';
import { listeners } from './listeners.ts';
import { integrations, tenants } from './tenancy.ts';

const time = (name: string) => timestamp(name, { withTimezone: true });
const tenant = () =>
  uuid('tenant_id')
    .notNull()
    .references(() => tenants.id);

/** Lines of builds, in pieces as they came. A piece begins where the one before it ends: a repeated one is told by that. */
export const buildLogs = pgTable(
  'build_logs',
  {
    tenantId: tenant(),
    revisionId: uuid('revision_id')
      .notNull()
      .references(() => revisions.id, { onDelete: 'cascade' }),
    /** Number of its first line within the build; the first of all is 0. */
    firstLine: integer('first_line').notNull(),
    /** None: the attempt has ended, and its log with it. */
    lines: jsonb().$type<readonly BuildLogLine[]>().notNull(),
  },
  (table) => [primaryKey({ columns: [table.revisionId, table.firstLine] })],
);

/** Deliveries of webhooks that were taken: one that is sent again changes nothing. Kept some days. */
export const webhookDeliveries = pgTable(
  'webhook_deliveries',
  {
    tenantId: tenant(),
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
    // What goes sooner than hashes do.
    index('webhook_deliveries_of_ids')
      .on(table.receivedAt)
      .where(sql`${table.deliveryId} NOT LIKE 'sha256:%'`),
  ],
);

/** Logs of workloads that somebody is reading now: work for the listener, gone within minutes. */
export const logRequests = pgTable(
  'log_requests',
  {
    id: uuid().primaryKey(),
    tenantId: tenant(),
    deploymentId: uuid('deployment_id')
      .notNull()
      .references(() => deployments.id, { onDelete: 'cascade' }),
    listenerId: uuid('listener_id')
      .notNull()
      .references(() => listeners.id, { onDelete: 'cascade' }),
    query: jsonb().$type<LogQuery>().notNull(),
    /** The listener has it. Of one that needs something, true from the beginning: see there. */
    taken: boolean().notNull().default(false),
    /**
     * What the listener must know to read it, until it is handed out; null: nothing. Hubs of before hand out what is not
     * taken, to whoever asks, so that it does not look so to them.
     */
    needs: text().$type<LogAbility>(),
    /** X-Request-Id of the request whose client reads. */
    httpRequestId: text('http_request_id'),
    /** The reader renews it while it is there; after it nobody waits for the lines any more. */
    expiresAt: time('expires_at').notNull(),
  },
  (table) => [
    index('log_requests_by_listener').on(table.listenerId),
    index('log_requests_by_expiry').on(table.expiresAt),
    // Goes with its deployment.
    index('log_requests_by_deployment').on(table.deploymentId),
  ],
);

/** What the listener read for a log request, until the reader has it. */
export const logChunks = pgTable(
  'log_chunks',
  {
    tenantId: tenant(),
    requestId: uuid('request_id')
      .notNull()
      .references(() => logRequests.id, { onDelete: 'cascade' }),
    /** Counts from 1. */
    seq: integer().notNull(),
    /** JSON of the lines. */
    body: text().notNull(),
    /** Nothing comes after it. */
    last: boolean().notNull().default(false),
  },
  (table) => [primaryKey({ columns: [table.requestId, table.seq] })],
);
