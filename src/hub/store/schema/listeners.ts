import { bigint, boolean, jsonb, pgTable, sql, text, timestamp, uniqueIndex, uuid } from '../core/drizzle.ts';
import { tenants } from './tenancy.ts';

/** Where deployments run: one row a cluster. The row of the platform (no tenant) is made by the first migration. */
export const listeners = pgTable(
  'listeners',
  {
    id: uuid().primaryKey(),
    /** null: a listener of the platform, usable by every tenant. */
    tenantId: uuid('tenant_id').references(() => tenants.id),
    computeType: text('compute_type').notNull().default('k8s'),
    /** The owner's name of the cluster. */
    computeId: text('compute_id').notNull(),
    computeConfig: jsonb('compute_config').$type<ComputeConfig>().notNull(),
    /** Berth's version, as the listener says. */
    version: text(),
    clusterVersion: text('cluster_version'),
    /** The cluster that the listener is for, as its first lease told (domain/deployment/cluster-id.ts); null: the next one to tell. */
    clusterId: text('cluster_id'),
    /** False: the listener reaches the hub, but its cluster does not answer. */
    clusterReachable: boolean('cluster_reachable').notNull().default(true),
    /** Namespaces of its list that the listener cannot read, each with why. */
    unreadable: jsonb().$type<Record<string, string>>().notNull().default({}),
    /** Ids of custom resources in the cluster that belong to no deployment, as last told; at most MAX_UNKNOWN. */
    unknownResources: jsonb('unknown_resources').$type<string[]>().notNull().default([]),
    /** The operator's rendering configuration, as reported with the lease (contract/render/render-config.ts). */
    rendering: jsonb().$type<unknown>(),
    leaseHolder: text('lease_holder'),
    /** Counts holders. A call with an older epoch is refused. */
    leaseEpoch: bigint('lease_epoch', { mode: 'number' }).notNull().default(0),
    /** The cluster counts as observed until then. */
    leaseExpiresAt: timestamp('lease_expires_at', { withTimezone: true }),
    /** Highest report sequence taken within the epoch. */
    reportSeq: bigint('report_seq', { mode: 'number' }).notNull().default(0),
    lastSeenAt: timestamp('last_seen_at', { withTimezone: true }),
    /** A listener has held the lease at least once. */
    everSeen: boolean('ever_seen').notNull().default(false),
    /** The loss of the lease was written to the events; false again once it returns. */
    lossRecorded: boolean('loss_recorded').notNull().default(false),
    /** It was away, and what it finds is not told yet: until its first complete inventory nobody has looked. */
    awaitsInventory: boolean('awaits_inventory').notNull().default(false),
    /** Since when its cluster is not observed, as written to the events; null: it is, as far as is written there. */
    lostAt: timestamp('lost_at', { withTimezone: true }),
    createdAt: timestamp('created_at', { withTimezone: true }).notNull().defaultNow(),
    updatedAt: timestamp('updated_at', { withTimezone: true }).notNull().defaultNow(),
  },
  (table) => [
    uniqueIndex('listeners_compute_id').on(table.tenantId, table.computeId),
    uniqueIndex('listeners_platform_compute_id').on(table.computeId).where(sql`${table.tenantId} IS NULL`),
  ],
);

/** Names are the HTTP contract's. */
export interface ComputeConfig {
  /** Namespaces that the listener may use; the first is the default. Empty: any. */
  k8s_namespaces: string[];
}
