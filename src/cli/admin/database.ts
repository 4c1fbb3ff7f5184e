import { type Database, openDatabase } from '../../hub/store/core/database.ts';
import { checkMigrated } from '../../hub/store/core/migrate.ts';
import { checkSessions } from '../../hub/store/core/session-check.ts';
import { UsageError } from '../command/usage-error.ts';
import type { AdminSession } from './session.ts';

/**
 * Runs the work of a command with the database of the hub, which it opens and closes.
 * @param purpose what the command needs the database for, as the end of a sentence
 * @throws UsageError when DATABASE_URL is not set; StoreError
 */
export async function withDatabase(
  { config, logger }: AdminSession,
  purpose: string,
  work: (database: Database) => Promise<void>,
  options: { readonly statementTimeoutMs?: number } = {},
): Promise<void> {
  if (config.databaseUrl === null) throw new UsageError(`DATABASE_URL is not set: ${purpose}`);
  const database = openDatabase({ url: config.databaseUrl, poolSize: 1, logger, ...options });
  try {
    await checkSessions(config.databaseUrl);
    await checkMigrated(database);
    await work(database);
  } finally {
    await database.close();
  }
}
