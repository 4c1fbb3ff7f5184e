import { statement } from '../../core/statement.ts';

/**
 * Before a new epoch begins: waits for the transactions that rely on the current epoch, and lets no other begin. The
 * update of the epoch alone does not exclude the locks of keep-epoch.ts.
 */
export const endEpochStatement = statement<{ listenerId: string }>(
  'end_epoch',
  'SELECT FROM listeners WHERE id = :listenerId FOR UPDATE',
);
