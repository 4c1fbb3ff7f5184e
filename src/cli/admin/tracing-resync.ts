import type { Config } from '../../config/index.ts';
import type { Logger } from '../../domain/core/logger.ts';
import { openDatabase } from '../../hub/store/core/database.ts';
import { checkMigrated } from '../../hub/store/core/migrate.ts';
import { resyncProjects } from '../../hub/store/tenancy/outbox.ts';
import { UsageError } from '../command/usage-error.ts';

/**
 * `berth tracing resync`
 * @throws UsageError, StoreError
 */
export async function resync(config: Config, logger: Logger): Promise<void> {
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
