import type { RoutesReport } from '../../../domain/deployment/cluster-report.ts';
import type { Transaction } from '../core/database.ts';

/**
 * Reserves hosts that deployments no longer use while their cluster may still route them. Another deployment of any
 * tenant gets a reserved host when an operator that has seen the new generation observes no route with this host, or
 * when the record is removed. A host that no cluster has received is available at once. The release of a host is
 * independent of acknowledgements and other progress, so that a volume that cannot grow does not delay the release. The
 * hosts of a deployment that was deleted with keep_workloads are still routed in the cluster, but no longer observed.
 * Hosts with kept workloads remain reserved, except for the same tenant, until an admin frees them. The same tenant may
 * use the hosts again, because this tenant owns the routes. Each statement runs after the statement that writes the
 * deployment's route_host, never within it, so that a transaction that waited there for the host sees the reservations.
 */

const HOLD = `
INSERT INTO leaving_hosts (host, tenant_id, deployment_id, generation)
SELECT h.host, d.tenant_id, d.id, d.generation FROM deployments d CROSS JOIN LATERAL (SELECT coalesce($3::text, d.route_host) AS host) h
WHERE d.tenant_id = $1 AND d.id = ANY($2::uuid[]) AND d.spec_hash IS NOT NULL AND h.host IS NOT NULL
ON CONFLICT (host) DO NOTHING`;

const TAKE_BACK = 'DELETE FROM leaving_hosts WHERE tenant_id = $1 AND deployment_id = $2 AND host = $3';

const TRY = `
INSERT INTO leaving_hosts (host, tenant_id, deployment_id, generation) VALUES ($3, $1, $2, 0)`;

/** If the same tenant has already kept the host, no second row is added. */
const TRY_KEPT = `
INSERT INTO kept_hosts (host, tenant_id, deployment_ids) SELECT $3, $1, ARRAY[$2::uuid]
WHERE NOT EXISTS (SELECT 1 FROM kept_hosts WHERE host = $3 AND tenant_id = $1)`;
const UNDO_KEPT =
  'DELETE FROM kept_hosts WHERE tenant_id = $1 AND deployment_ids = ARRAY[$2::uuid] AND host = $3';

/**
 * Keeps hosts that are not confirmed to be unrouted. This SQL is part of the statement that removes the record, which
 * deletes the rows of leaving_hosts.
 */
export const KEEP_HOSTS = `
INSERT INTO kept_hosts (host, tenant_id, deployment_ids)
SELECT h.host, h.tenant_id, ARRAY[h.deployment_id] FROM leaving_hosts h JOIN d ON d.id = h.deployment_id`;

/** Several deployments of one tenant may have had the same host one after the other. */
export const KEPT_AGAIN = `
ON CONFLICT (host) DO UPDATE SET deployment_ids = kept_hosts.deployment_ids || EXCLUDED.deployment_ids`;

const LET_GO = `
UPDATE kept_hosts SET deployment_ids = array_remove(deployment_ids, $2::uuid)
WHERE tenant_id = $1 AND $2::uuid = ANY(deployment_ids)`;
const FREE_KEPT = `DELETE FROM kept_hosts WHERE tenant_id = $1 AND deployment_ids = '{}' RETURNING host`;

const OBSERVED = 'jsonb_to_recordset($1::jsonb) AS v(id uuid, url text, generation int, hosts jsonb)';

const FREE_UNROUTED = `
DELETE FROM leaving_hosts h USING ${OBSERVED}
WHERE h.deployment_id = v.id AND v.generation >= h.generation AND NOT v.hosts ? h.host`;

/**
 * For operators and listeners of an earlier version, which report only the URL. The host is available when the URL has
 * another host and the generation is known to be in the cluster. A deletion is acknowledged only when it is complete,
 * so the reported URL decides whether a host is available before the deletion is complete. A report of a later version
 * overrides the result.
 */
const NOTE_URL = `
UPDATE leaving_hosts h SET clear = v.hosts IS NULL
  AND (v.url IS NULL OR split_part(split_part(v.url, '://', 2), '/', 1) <> h.host)
FROM ${OBSERVED} WHERE h.deployment_id = v.id`;
const FREE_BY_URL = `
DELETE FROM leaving_hosts h USING deployments d
WHERE d.id = h.deployment_id AND d.id = ANY($1::uuid[]) AND h.clear
  AND greatest(d.acknowledged_generation, d.observed_generation) >= h.generation`;

/**
 * Reserves the hosts of deployments that are being deleted, or the host that a deployment no longer uses.
 * @param host null: the current host of each deployment
 */
export async function reserveHosts(
  transaction: Transaction,
  tenantId: string,
  deploymentIds: readonly string[],
  host: string | null = null,
): Promise<void> {
  await transaction.query(HOLD, [tenantId, deploymentIds, host]);
}

/**
 * Verifies that no cluster of another deployment still routes a host that the deployment gets.
 * @throws UniqueViolation `leaving_hosts_pkey`, `kept_hosts_pkey`
 */
export async function claimHost(
  transaction: Transaction,
  tenantId: string,
  deploymentId: string,
  host: string | null,
): Promise<void> {
  if (host === null) return;
  const at = [tenantId, deploymentId, host];
  await transaction.query(TAKE_BACK, at);
  // The key is unique across tenants, whose rows are not visible here.
  await transaction.query(TRY, at);
  await transaction.query(TAKE_BACK, at);
  await transaction.query(TRY_KEPT, at);
  await transaction.query(UNDO_KEPT, at);
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
  await transaction.query(LET_GO, [tenantId, deploymentId]);
  const rows = await transaction.query<{ host: string }>(FREE_KEPT, [tenantId]);
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
    const rows = JSON.stringify(seen.map(({ id, url, routes }) => ({ id, url, ...routes })));
    await transaction.query(FREE_UNROUTED, [rows]);
    await transaction.query(NOTE_URL, [rows]);
  }
  if (reported.length > 0) await transaction.query(FREE_BY_URL, [reported]);
}
