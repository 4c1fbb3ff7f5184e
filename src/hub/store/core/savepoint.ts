import type { Transaction } from './database.ts';

/**
 * Runs a part of a transaction that may fail without failing the rest. On failure its writes are rolled back, and the
 * error is thrown. It must not be nested.
 */
export async function inSavepoint<T>(transaction: Transaction, work: () => Promise<T>): Promise<T> {
  await transaction.query('SAVEPOINT part');
  try {
    const value = await work();
    await transaction.query('RELEASE SAVEPOINT part');
    return value;
  } catch (error) {
    await transaction.query('ROLLBACK TO SAVEPOINT part');
    throw error;
  }
}
