import type { Reader } from '../core/database.ts';
import type { LeaseTimes } from './listener-lease.ts';

/** The stored lease of a listener. */
export interface StoredLease {
  readonly epoch: number;
  /** The holder of the lease; null: the lease was released, or never taken. */
  readonly holder: string | null;
  /** Whether the holder has renewed the lease in time. */
  readonly held: boolean;
  readonly namespaces: readonly string[];
  /** The namespaces of the deployments of the listener, without namespaces of tenants. */
  readonly used: readonly { readonly namespace: string; readonly deployments: number }[];
  /** The reported configuration; null: not reported yet. */
  readonly rendering: unknown;
  /** The cluster of the listener; null: the next cluster that takes the lease. */
  readonly clusterId: string | null;
}

const READ = `
SELECT lease_epoch::float8 AS epoch, lease_holder AS holder, compute_config -> 'k8s_namespaces' AS namespaces, rendering,
  cluster_id AS "clusterId",
  coalesce((SELECT jsonb_agg(u ORDER BY u.namespace) FROM (
    SELECT namespace, count(*)::int AS deployments FROM deployments
    WHERE listener_id = $1 AND namespace <> 'berth-' || tenant_id GROUP BY namespace ORDER BY namespace LIMIT 1000) AS u),
    '[]') AS used,
  lease_holder IS NOT NULL AND coalesce(last_seen_at > now() - make_interval(secs => $2::float8), false) AS held
FROM listeners WHERE id = $1`;

/** Reads the lease without a change; null when the scope contains no listener with this id. */
export async function readLease(
  reader: Reader,
  listenerId: string,
  { heldSeconds }: Pick<LeaseTimes, 'heldSeconds'>,
): Promise<StoredLease | null> {
  const [row] = await reader.query<StoredLease>(READ, [listenerId, heldSeconds]);
  return row ?? null;
}
