import type { listeners } from '../../core/schema.ts';
import { type Columns, statement } from '../../core/statement.ts';

/**
 * Like lock-epoch.ts, but renewals of the lease do not wait. Locks FOR SHARE that overlap would delay a renewal without
 * limit: with four transactions of 100 ms that repeat, a renewal waited for more than 8 s.
 */
export const keepEpochStatement = statement<{ listenerId: string }, Columns<typeof listeners, 'leaseEpoch'>>(
  'keep_epoch',
  'SELECT lease_epoch AS "leaseEpoch" FROM listeners WHERE id = :listenerId FOR KEY SHARE',
);
