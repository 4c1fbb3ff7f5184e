import type { RoutesReport } from '../../../domain/deployment/cluster-report.ts';
import type { Transaction } from '../core/database.ts';
import { and, eq, inArray, sql } from '../core/drizzle.ts';
import { keptHosts, leavingHosts } from '../core/schema.ts';
import { freeClearHostsStatement } from '../sql/hosts/free-clear-hosts.ts';
import { freeUnroutedHostsStatement } from '../sql/hosts/free-unrouted-hosts.ts';
import { recordClearHostsStatement } from '../sql/hosts/record-clear-hosts.ts';
import { reserveHostsStatement } from '../sql/hosts/reserve-hosts.ts';
import { tryKeptHostsStatement } from '../sql/hosts/try-kept-hosts.ts';

/**
 * Reserves hosts that deployments no longer use while their cluster may still route them. Another deployment of any
 * tenant gets a reserved host when an operator that has seen the new generation observes no route with this host, or
 * when the record is removed. A host that no cluster has received is available at once. The release of a host is
 * independent of acknowledgements and other progress, so that a volume that cannot grow does not delay the release. The
 * hosts of a deployment that was deleted with keep_workloads are still routed in the cluster, but no longer observed.
 * Hosts with kept workloads remain reserved, except for the same tenant, until an admin frees them. The same tenant may
 * use the hosts again, because this tenant owns the routes. Each statement runs after the statement that writes the
 * deployment's hosts, never within it, so that a transaction that waited there for the host sees the reservations.
 */

/**
 * Reserves the hosts of deployments that are being deleted, or the hosts that a deployment no longer uses.
 * @param hosts null: the current hosts of each deployment
 */
export async function reserveHosts(
  transaction: Transaction,
  tenantId: string,
  deploymentIds: readonly string[],
  hosts: readonly string[] | null = null,
): Promise<void> {
  if (hosts?.length === 0) return;
  await transaction.run(reserveHostsStatement, { tenantId, deploymentIds, hosts });
}

/**
 * Verifies that no cluster of another deployment still routes a host that the deployment gets. The hosts are written in one
 * order, so that two transactions never wait for each other.
 * @throws UniqueViolation `leaving_hosts_pkey`, `kept_hosts_pkey`
 */
export async function claimHosts(
  transaction: Transaction,
  tenantId: string,
  deploymentId: string,
  claimed: readonly string[],
): Promise<void> {
  if (claimed.length === 0) return;
  const hosts = claimed.toSorted();
  const takeBack = () =>
    transaction.drizzle
      .delete(leavingHosts)
      .where(
        and(
          eq(leavingHosts.tenantId, tenantId),
          eq(leavingHosts.deploymentId, deploymentId),
          inArray(leavingHosts.host, hosts),
        ),
      );
  await takeBack();
  // The key is unique across tenants, whose rows are not visible here.
  await transaction.drizzle
    .insert(leavingHosts)
    .values(hosts.map((host) => ({ host, tenantId, deploymentId, generation: 0 })));
  await takeBack();
  await transaction.run(tryKeptHostsStatement, { tenantId, deploymentId, hosts });
  await transaction.drizzle
    .delete(keptHosts)
    .where(
      and(
        eq(keptHosts.tenantId, tenantId),
        inArray(keptHosts.host, hosts),
        sql`${keptHosts.deploymentIds} = ARRAY[${deploymentId}::uuid]`,
      ),
    );
}

/**
 * Frees the hosts that a deployment kept when it was deleted with keep_workloads, unless another deployment has also
 * kept them.
 * @returns the hosts that are now available
 */
export async function freeKeptHosts(
  transaction: Transaction,
  tenantId: string,
  deploymentId: string,
): Promise<string[]> {
  await transaction.drizzle
    .update(keptHosts)
    .set({ deploymentIds: sql`array_remove(${keptHosts.deploymentIds}, ${deploymentId}::uuid)` })
    .where(
      and(eq(keptHosts.tenantId, tenantId), sql`${deploymentId}::uuid = ANY(${keptHosts.deploymentIds})`),
    );
  const rows = await transaction.drizzle
    .delete(keptHosts)
    .where(and(eq(keptHosts.tenantId, tenantId), sql`${keptHosts.deploymentIds} = '{}'`))
    .returning({ host: keptHosts.host });
  return rows.map(({ host }) => host).sort();
}

/** The observed routes of a deployment. */
export interface ObservedRoutes {
  readonly id: string;
  /** The URL that the deployment serves; null: none. */
  readonly url: string | null;
  /** null: the hosts were not reported. */
  readonly routes: RoutesReport | null;
}

/** Frees the hosts that no route object has any more. @param reported ids of all deployments with a report */
export async function freeHosts(
  transaction: Transaction,
  reported: readonly string[],
  seen: readonly ObservedRoutes[],
): Promise<void> {
  if (seen.length > 0) {
    const observed = JSON.stringify(seen.map(({ id, url, routes }) => ({ id, url, ...routes })));
    await transaction.run(freeUnroutedHostsStatement, { observed });
    await transaction.run(recordClearHostsStatement, { observed });
  }
  if (reported.length > 0) await transaction.run(freeClearHostsStatement, { deploymentIds: reported });
}
