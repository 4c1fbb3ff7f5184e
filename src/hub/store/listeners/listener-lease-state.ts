import type { Reader } from '../core/database.ts';
import { eq, sql } from '../core/drizzle.ts';
import { deployments, listeners } from '../core/schema.ts';
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

/** The namespaces with deployments. The number is limited, so that the response is small. */
const used = (listenerId: string) => sql<
  StoredLease['used']
>`coalesce((SELECT jsonb_agg(u ORDER BY u.namespace) FROM (
  SELECT namespace, count(*)::int AS deployments FROM ${deployments}
  WHERE listener_id = ${listenerId} AND namespace <> 'berth-' || tenant_id
  GROUP BY namespace ORDER BY namespace LIMIT 1000) AS u), '[]')`;

const isHeld = (heldSeconds: number) => sql<boolean>`(${listeners.leaseHolder} IS NOT NULL
  AND coalesce(${listeners.lastSeenAt} > now() - make_interval(secs => ${heldSeconds}::float8), false))`;

/** Reads the lease without a change; null when the scope contains no listener with this id. */
export async function readLease(
  reader: Reader,
  listenerId: string,
  { heldSeconds }: Pick<LeaseTimes, 'heldSeconds'>,
): Promise<StoredLease | null> {
  const [row] = await reader.drizzle
    .select({
      epoch: listeners.leaseEpoch,
      holder: listeners.leaseHolder,
      held: isHeld(heldSeconds),
      namespaces: sql<readonly string[]>`${listeners.computeConfig} -> 'k8s_namespaces'`,
      used: used(listenerId),
      rendering: listeners.rendering,
      clusterId: listeners.clusterId,
    })
    .from(listeners)
    .where(eq(listeners.id, listenerId));
  return row ?? null;
}
