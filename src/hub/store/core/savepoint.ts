import type { Transaction } from './database.ts';
import { translateError } from './errors.ts';

/**
 * Runs a part of a transaction that may fail without failing the rest. After a failure, the writes of this part are
 * rolled back, and the error is thrown as a StoreError. Calls must not be nested.
 */
export async function inSavepoint<T>(transaction: Transaction, work: () => Promise<T>): Promise<T> {
  await transaction.query('SAVEPOINT part');
  try {
    const value = await work();
    await transaction.query('RELEASE SAVEPOINT part');
    return value;
  } catch (error) {
    await transaction.query('ROLLBACK TO SAVEPOINT part');
    throw translateError(error);
  }
}
