import { listeners } from '../../core/schema.ts';
import { type Columns, columns, statement } from '../../core/statement.ts';

/** Locks a listener and reads its lease. Each renewal begins with this statement. */
export const lockLeaseStatement = statement<
  { listenerId: string; heldSeconds: number },
  Columns<
    typeof listeners,
    'tenantId' | 'computeId' | 'leaseHolder' | 'leaseEpoch' | 'lossRecorded' | 'everSeen' | 'clusterId'
  > & {
    /** Whether the holder has renewed the lease in time. */
    held: boolean;
  }
>(
  'lock_lease',
  `SELECT ${columns(listeners, 'l', [
    'tenantId',
    'computeId',
    'leaseHolder',
    'leaseEpoch',
    'lossRecorded',
    'everSeen',
    'clusterId',
  ])}, coalesce(l.last_seen_at > now() - make_interval(secs => :heldSeconds::float8), false) AS held
FROM listeners l WHERE l.id = :listenerId FOR NO KEY UPDATE`,
);
