import type { RoutesReport } from '../../../domain/deployment/cluster-report.ts';
import type { Transaction } from '../core/database.ts';

/**
 * Hosts that deployments have given up while their cluster may still route them: another deployment, of whatever tenant,
 * gets such a host once no route object with it was seen by an operator that went by the generation that gave it up, or
 * with the end of the record. A host that never left the hub is free at once.
 *
 * What was acknowledged, and what is in effect, does not matter to that: a volume that is not let grow holds neither up.
 *
 * The hosts of one that left with keep_workloads are still routed in the cluster, and nobody looks any more: they are kept
 * from other tenants until the platform frees them. Its own tenant may use them again: the routes are its own matter.
 *
 * Each statement comes after the one that writes the deployment's own route_host, never within it: so whoever waited
 * there for the host sees what was held here meanwhile.
 */

const HOLD = `
INSERT INTO leaving_hosts (host, tenant_id, deployment_id, generation)
SELECT h.host, d.tenant_id, d.id, d.generation FROM deployments d CROSS JOIN LATERAL (SELECT coalesce($3::text, d.route_host) AS host) h
WHERE d.tenant_id = $1 AND d.id = ANY($2::uuid[]) AND d.spec_hash IS NOT NULL AND h.host IS NOT NULL
ON CONFLICT (host) DO NOTHING`;

const TAKE_BACK = 'DELETE FROM leaving_hosts WHERE tenant_id = $1 AND deployment_id = $2 AND host = $3';

const TRY = `
INSERT INTO leaving_hosts (host, tenant_id, deployment_id, generation) VALUES ($3, $1, $2, 0)`;

/** Beside a host that its own tenant has kept there is no second row. */
const TRY_KEPT = `
INSERT INTO kept_hosts (host, tenant_id, deployment_ids) SELECT $3, $1, ARRAY[$2::uuid]
WHERE NOT EXISTS (SELECT 1 FROM kept_hosts WHERE host = $3 AND tenant_id = $1)`;
const UNDO_KEPT =
  'DELETE FROM kept_hosts WHERE tenant_id = $1 AND deployment_ids = ARRAY[$2::uuid] AND host = $3';

/** Those that were not seen to be routed no more. In one statement with the end of the record, which takes them with it. */
export const KEEP_HOSTS = `
INSERT INTO kept_hosts (host, tenant_id, deployment_ids)
SELECT h.host, h.tenant_id, ARRAY[h.deployment_id] FROM leaving_hosts h JOIN d ON d.id = h.deployment_id`;

/** One tenant's deployments may have had the same host in turn. */
export const KEPT_AGAIN = `
ON CONFLICT (host) DO UPDATE SET deployment_ids = kept_hosts.deployment_ids || EXCLUDED.deployment_ids`;

const LET_GO = `
UPDATE kept_hosts SET deployment_ids = array_remove(deployment_ids, $2::uuid)
WHERE tenant_id = $1 AND $2::uuid = ANY(deployment_ids)`;
const FREE_KEPT = `DELETE FROM kept_hosts WHERE tenant_id = $1 AND deployment_ids = '{}' RETURNING host`;

const SEEN = 'jsonb_to_recordset($1::jsonb) AS v(id uuid, url text, generation int, hosts jsonb)';

const FREE_UNROUTED = `
DELETE FROM leaving_hosts h USING ${SEEN}
WHERE h.deployment_id = v.id AND v.generation >= h.generation AND NOT v.hosts ? h.host`;

/**
 * Of operators and listeners of an earlier version, which tell the URL alone: where that leads elsewhere, and the generation
 * is known to be there otherwise. The work of a deletion is not acknowledged before its end; that it has taken effect is
 * seen. What a later version tells takes this word back.
 */
const NOTE_URL = `
UPDATE leaving_hosts h SET clear = v.hosts IS NULL
  AND (v.url IS NULL OR split_part(split_part(v.url, '://', 2), '/', 1) <> h.host)
FROM ${SEEN} WHERE h.deployment_id = v.id`;
const FREE_BY_URL = `
DELETE FROM leaving_hosts h USING deployments d
WHERE d.id = h.deployment_id AND d.id = ANY($1::uuid[]) AND h.clear
  AND greatest(d.acknowledged_generation, d.observed_generation) >= h.generation`;

/**
 * Holds the hosts of deployments whose deletion was asked for, or the host that one has given up.
 * @param host null: the present one of each
 */
export async function holdHosts(
  transaction: Transaction,
  tenantId: string,
  deploymentIds: readonly string[],
  host: string | null = null,
): Promise<void> {
  await transaction.query(HOLD, [tenantId, deploymentIds, host]);
}

/**
 * Makes sure that nobody else's cluster still routes a host that the deployment has been given.
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
  // The key is unique across tenants, whose rows cannot be seen from here.
  await transaction.query(TRY, at);
  await transaction.query(TAKE_BACK, at);
  await transaction.query(TRY_KEPT, at);
  await transaction.query(UNDO_KEPT, at);
}

/**
 * Frees the hosts that a deployment kept when it left with keep_workloads, unless another one has kept them too.
 * @returns the hosts that are free now
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

/** What was seen of the routes of a deployment. */
export interface SeenRoutes {
  readonly id: string;
  /** Where it answers; null: nowhere. */
  readonly url: string | null;
  /** null: not told. */
  readonly routes: RoutesReport | null;
}

/**
 * Frees the hosts that no route object has any more.
 * @param reported ids of all that something was reported of
 */
export async function freeHosts(
  transaction: Transaction,
  reported: readonly string[],
  seen: readonly SeenRoutes[],
): Promise<void> {
  if (seen.length > 0) {
    const rows = JSON.stringify(seen.map(({ id, url, routes }) => ({ id, url, ...routes })));
    await transaction.query(FREE_UNROUTED, [rows]);
    await transaction.query(NOTE_URL, [rows]);
  }
  if (reported.length > 0) await transaction.query(FREE_BY_URL, [reported]);
}
