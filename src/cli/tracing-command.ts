import type { Config } from '../config/index.ts';
import type { Logger } from '../domain/core/logger.ts';
import { openDatabase } from '../hub/store/core/database.ts';
import { checkMigrated } from '../hub/store/core/migrate.ts';
import { resyncProjects } from '../hub/store/tenancy/outbox.ts';
import { UsageError } from './usage-error.ts';

export const TRACING_HELP = `usage: berth tracing resync
Makes the running API send every tracing project to the tracing backend (BERTH_TRACING_URL) again. Use it if the backend
was replaced or has lost its data. The API also sends deletions that the old backend did not accept. Needs DATABASE_URL.`;

/**
 * `berth tracing resync`
 * @throws UsageError, StoreError
 */
export async function tracingCommand(config: Config, logger: Logger, args: readonly string[]): Promise<void> {
  const [verb, unexpected] = args;
  if (verb !== 'resync') throw new UsageError(`berth tracing: "${verb ?? ''}" is not a command`);
  if (unexpected !== undefined) throw new UsageError(`"${unexpected}" is not expected here`);
  if (config.databaseUrl === null)
    throw new UsageError('DATABASE_URL is not set: the projects are stored in that database');
  const database = openDatabase({ url: config.databaseUrl, poolSize: 1, logger });
  try {
    await checkMigrated(database);
    const count = await database.platform.transaction(resyncProjects);
    console.log(`The API sends ${count} tracing projects to the backend again.`);
  } finally {
    await database.close();
  }
}
