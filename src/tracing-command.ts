import type { Config } from './config.ts';
import type { Logger } from './domain/logger.ts';
import { openDatabase } from './store/database.ts';
import { checkMigrated } from './store/migrate.ts';
import { resyncProjects } from './store/outbox.ts';
import { UsageError } from './usage-error.ts';

export const TRACING_HELP = `usage: berth tracing resync
Forgets what the tracing backend was told, so that it is told of every tracing project again: for a backend that takes
the place of another one, or has lost its data. The running API sends them (BERTH_TRACING_URL); deletions that the old
one has not taken are sent as well. Needs DATABASE_URL.`;

/**
 * `berth tracing resync`
 * @throws UsageError, StoreError
 */
export async function tracingCommand(config: Config, logger: Logger, args: readonly string[]): Promise<void> {
  const [verb, unexpected] = args;
  if (verb !== 'resync') throw new UsageError(`berth tracing: "${verb ?? ''}" is no command`);
  if (unexpected !== undefined) throw new UsageError(`"${unexpected}" is not expected here`);
  if (config.databaseUrl === null)
    throw new UsageError('DATABASE_URL is not set: the projects are kept in that database');
  const database = openDatabase({ url: config.databaseUrl, poolSize: 1, logger });
  try {
    await checkMigrated(database);
    const count = await database.platform.transaction(resyncProjects);
    console.log(`The backend had been told of ${count} tracing projects; it is told of all of them again.`);
  } finally {
    await database.close();
  }
}
