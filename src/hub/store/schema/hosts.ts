import { boolean, index, integer, pgTable, sql, text, timestamp, uuid } from '../core/drizzle.ts';
import { ofDeployment } from './deployments.ts';
import { ofTenant } from './tenancy.ts';

/** Hosts that deployments use, or that are reserved for them. */

/** A host of one deployment. */
const hostOfDeployment = () => ({
  /** In the form of route_host. */
  host: text().primaryKey(),
  tenantId: ofTenant(),
  deploymentId: ofDeployment(),
});

/**
 * Every host that a deployment uses: that of custom_url, and those of source_config.domains. The key makes a host unique across
 * tenants. The trigger berth_claim_hosts writes the rows with the deployment, so that they are also right for deployments that
 * an API of an earlier version writes. A deployment that is being deleted has no rows.
 */
export const deploymentHosts = pgTable(
  'deployment_hosts',
  {
    ...hostOfDeployment(),
    /** Whether the host is one of source_config.domains. */
    extra: boolean().notNull(),
  },
  (table) => [
    index('deployment_hosts_by_deployment').on(table.deploymentId),
    // An index for the quota of additional hosts.
    index('deployment_hosts_extra').on(table.tenantId).where(sql`${table.extra}`),
  ],
);

/**
 * Hosts that deployments no longer use, until their routes are observed to be gone
 * (hub/store/deployments/host-reservations.ts).
 */
export const leavingHosts = pgTable(
  'leaving_hosts',
  {
    ...hostOfDeployment(),
    /** The first generation without the host. */
    generation: integer().notNull(),
    /** Whether a later observation showed that the route uses another host or is gone. */
    clear: boolean().notNull().default(false),
  },
  (table) => [index('leaving_hosts_by_deployment').on(table.deploymentId)],
);

/**
 * Hosts of deployments that were deleted with keep_workloads. The routes of these hosts are in the cluster and are no
 * longer observed (hub/store/deployments/host-reservations.ts). The table has no foreign keys, because the rows outlive
 * deployment and tenant.
 */
export const keptHosts = pgTable(
  'kept_hosts',
  {
    /** In the form of route_host. */
    host: text().primaryKey(),
    tenantId: uuid('tenant_id').notNull(),
    /** The deployments that kept the host. */
    deploymentIds: uuid('deployment_ids').array().notNull(),
    keptAt: timestamp('kept_at', { withTimezone: true }).notNull().defaultNow(),
  },
  (table) => [index('kept_hosts_by_tenant').on(table.tenantId)],
);
