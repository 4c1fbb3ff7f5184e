import type { listeners } from '../../core/schema.ts';
import { type Columns, statement } from '../../core/statement.ts';

/** The epoch of a listener, and the time until its next item is due. Each waiting long poll runs this statement. */
export const nextDueStatement = statement<
  { listenerId: string },
  Columns<typeof listeners, 'leaseEpoch'> & {
    /** Milliseconds; ≤ 0: now; null: no item waits. */
    dueInMs: number | null;
  }
>(
  'next_due',
  `SELECT l.lease_epoch AS "leaseEpoch", extract(epoch FROM least(
  (SELECT min(next_attempt_at) FROM deployments WHERE listener_id = :listenerId AND generation > acknowledged_generation),
  (SELECT min(next_attempt_at) FROM tombstones WHERE listener_id = :listenerId AND due)) - now())::float8 * 1000 AS "dueInMs"
FROM listeners l WHERE l.id = :listenerId`,
);
