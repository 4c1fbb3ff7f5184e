import { bigint, boolean, jsonb, pgTable, sql, text, timestamp, uniqueIndex, uuid } from '../core/drizzle.ts';
import { tenants } from './tenancy.ts';

/** The clusters of deployments, one row each. The first migration creates the row of the platform (without tenant). */
export const listeners = pgTable(
  'listeners',
  {
    id: uuid().primaryKey(),
    /** null: a listener of the platform, which every tenant can use. */
    tenantId: uuid('tenant_id').references(() => tenants.id),
    computeType: text('compute_type').notNull().default('k8s'),
    /** The owner's name of the cluster. */
    computeId: text('compute_id').notNull(),
    computeConfig: jsonb('compute_config').$type<ComputeConfig>().notNull(),
    /** Berth's version, as the listener reports it. */
    version: text(),
    clusterVersion: text('cluster_version'),
    /**
     * Optional features of the listener, from its last lease; null: no lease was taken since this column exists. Empty: the
     * listener has a version that does not report them.
     */
    abilities: text().array(),
    /**
     * The cluster of the listener, from its first lease (domain/deployment/cluster-id.ts); null: the next cluster that
     * takes the lease.
     */
    clusterId: text('cluster_id'),
    /** False: the listener reaches the hub, but its cluster does not respond. */
    clusterReachable: boolean('cluster_reachable').notNull().default(true),
    /** Namespaces of its list that the listener cannot read, with reasons. */
    unreadable: jsonb().$type<Record<string, string>>().notNull().default({}),
    /** Ids of custom resources in the cluster that belong to no deployment, as last reported; at most MAX_UNKNOWN. */
    unknownResources: jsonb('unknown_resources').$type<string[]>().notNull().default([]),
    /** The operator's rendering configuration, as reported with the lease (contract/render/render-config.ts). */
    rendering: jsonb().$type<unknown>(),
    leaseHolder: text('lease_holder'),
    /** Counter of lease holders. A call with an older epoch is rejected. */
    leaseEpoch: bigint('lease_epoch', { mode: 'number' }).notNull().default(0),
    /** Time until which the cluster counts as observed. */
    leaseExpiresAt: timestamp('lease_expires_at', { withTimezone: true }),
    /** Highest report sequence that was accepted in the epoch. */
    reportSeq: bigint('report_seq', { mode: 'number' }).notNull().default(0),
    lastSeenAt: timestamp('last_seen_at', { withTimezone: true }),
    /** Whether a listener has held the lease at least once. */
    everSeen: boolean('ever_seen').notNull().default(false),
    /** Whether an event has recorded the loss of the lease. The value becomes false when the listener returns. */
    lossRecorded: boolean('loss_recorded').notNull().default(false),
    /**
     * Whether the listener has reconnected and has not sent a complete inventory yet, so that the cluster is not
     * observed.
     */
    awaitsInventory: boolean('awaits_inventory').notNull().default(false),
    /** Time since which the cluster is not observed, according to the events; null: the cluster is observed. */
    lostAt: timestamp('lost_at', { withTimezone: true }),
    /** Number of changes of the columns on which statuses depend (status.ts). A trigger counts them (migration 0021). */
    stateVersion: bigint('state_version', { mode: 'number' }).notNull().default(0),
    createdAt: timestamp('created_at', { withTimezone: true }).notNull().defaultNow(),
    updatedAt: timestamp('updated_at', { withTimezone: true }).notNull().defaultNow(),
  },
  (table) => [
    uniqueIndex('listeners_compute_id').on(table.tenantId, table.computeId),
    uniqueIndex('listeners_platform_compute_id').on(table.computeId).where(sql`${table.tenantId} IS NULL`),
  ],
);

/** The HTTP contract uses the same names. */
export interface ComputeConfig {
  /** Namespaces that the listener may use. The first namespace is the default. Empty: any. */
  k8s_namespaces: string[];
}
