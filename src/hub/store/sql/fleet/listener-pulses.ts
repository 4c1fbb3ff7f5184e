import type { ListenerStatus } from '../../../../domain/revision/states.ts';
import type { listeners } from '../../core/schema.ts';
import { type Columns, statement } from '../../core/statement.ts';
import { LISTENER_OWNER, type ListenerOwner } from '../fragments/listener-owner.ts';

/** All listeners, with Unix times in seconds, in the order in which their leases expire or expired. A released lease expired at the last call. */
export const listenerPulsesStatement = statement<
  Record<never, never>,
  Columns<typeof listeners, 'id'> & {
    owner: ListenerOwner;
    status: ListenerStatus;
    lastSeenAt: number | null;
    leaseExpiresAt: number | null;
  }
>(
  'listener_pulses',
  `SELECT l.id, ${LISTENER_OWNER} AS owner,
  CASE WHEN NOT l.ever_seen THEN 'NEVER_SEEN' WHEN NOT coalesce(l.lease_expires_at > now(), false) THEN 'LOST'
    WHEN NOT l.cluster_reachable THEN 'CLUSTER_UNREACHABLE' ELSE 'CONNECTED' END AS status,
  extract(epoch FROM l.last_seen_at)::float8 AS "lastSeenAt",
  extract(epoch FROM coalesce(l.lease_expires_at, l.last_seen_at))::float8 AS "leaseExpiresAt"
FROM listeners l ORDER BY "leaseExpiresAt", l.id`,
);
