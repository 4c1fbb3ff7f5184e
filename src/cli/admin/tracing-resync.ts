import { resyncProjects } from '../../hub/store/tenancy/outbox.ts';
import { withDatabase } from './database.ts';
import type { AdminSession } from './session.ts';

/**
 * `berth tracing resync`
 * @throws UsageError, StoreError
 */
export async function resync(session: AdminSession): Promise<void> {
  await withDatabase(session, 'the projects are stored in that database', async (database) => {
    const count = await database.platform.transaction(resyncProjects);
    console.log(`The API sends ${count} tracing projects to the backend again.`);
  });
}
