import type { listeners } from '../../core/schema.ts';
import { type Columns, statement } from '../../core/statement.ts';

/** The epoch of a listener, which cannot change until the transaction ends. */
export const lockEpochStatement = statement<{ listenerId: string }, Columns<typeof listeners, 'leaseEpoch'>>(
  'lock_epoch',
  'SELECT lease_epoch AS "leaseEpoch" FROM listeners WHERE id = :listenerId FOR SHARE',
);
