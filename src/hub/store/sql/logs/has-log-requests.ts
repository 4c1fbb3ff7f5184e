import type { listeners } from '../../core/schema.ts';
import { type Columns, statement } from '../../core/statement.ts';

/** The epoch of a listener, and whether a reader of logs or objects waits for the listener. */
export const hasLogRequestsStatement = statement<
  { listenerId: string },
  Columns<typeof listeners, 'leaseEpoch'> & { wanted: boolean }
>(
  'has_log_requests',
  `SELECT l.lease_epoch AS "leaseEpoch", EXISTS (SELECT 1 FROM log_requests r
  WHERE r.listener_id = l.id AND (NOT r.taken OR r.needs IS NOT NULL OR r.awaits_listener) AND r.expires_at > now()) AS wanted
FROM listeners l WHERE l.id = :listenerId`,
);
