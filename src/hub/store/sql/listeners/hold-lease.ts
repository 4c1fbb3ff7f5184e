import type { listeners } from '../../core/schema.ts';
import { type Columns, statement } from '../../core/statement.ts';

/**
 * Whether deployments remain UNKNOWN until the first complete inventory (listener-inventory.ts), which follows the
 * reports. After a gap in observation, deployments remain UNKNOWN for a new holder.
 */
const AWAITS = `(l.awaits_inventory OR l.lease_epoch <> :epoch AND l.ever_seen
  AND NOT (:clusterReachable AND l.cluster_reachable AND coalesce(l.lease_expires_at > now(), false)))`;

/**
 * Takes or renews the lease of a locked listener. A new process does not know yet which namespaces it cannot read. The
 * namespaces that the previous process could not read are kept until the next renewal.
 */
export const holdLeaseStatement = statement<
  {
    listenerId: string;
    holder: string;
    epoch: number;
    observedSeconds: number;
    version: string;
    clusterVersion: string;
    /** JSON. null: unchanged. */
    rendering: string | null;
    clusterReachable: boolean;
    /** JSON. null: unchanged. */
    namespaces: string | null;
    clusterId: string | null;
    /** JSON. */
    unreadable: string;
    abilities: readonly string[];
  },
  Columns<typeof listeners, 'awaitsInventory'>
>(
  'hold_lease',
  `UPDATE listeners l SET lease_holder = :holder, lease_epoch = :epoch,
  lease_expires_at = now() + make_interval(secs => :observedSeconds::float8),
  report_seq = CASE WHEN l.lease_epoch = :epoch THEN l.report_seq ELSE 0 END,
  version = :version, abilities = :abilities::text[], cluster_version = :clusterVersion, rendering = coalesce(:rendering::jsonb, l.rendering),
  cluster_reachable = :clusterReachable,
  compute_config = CASE WHEN :namespaces::jsonb IS NULL THEN l.compute_config
    ELSE l.compute_config || jsonb_build_object('k8s_namespaces', :namespaces::jsonb) END,
  awaits_inventory = ${AWAITS}, loss_recorded = NOT :clusterReachable OR l.loss_recorded AND ${AWAITS}, ever_seen = true,
  lost_at = CASE WHEN NOT :clusterReachable OR ${AWAITS} THEN coalesce(l.lost_at, least(l.lease_expires_at, now())) END,
  last_seen_at = now(), cluster_id = :clusterId,
  unreadable = CASE WHEN l.lease_epoch <> :epoch THEN l.unreadable || :unreadable::jsonb ELSE :unreadable::jsonb END
WHERE l.id = :listenerId RETURNING l.awaits_inventory AS "awaitsInventory"`,
);
