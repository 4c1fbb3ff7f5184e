import type { ServerResponse } from 'node:http';
import pg from 'pg';

/**
 * Writes a line to each open response for each notification of a change. Triggers send notifications of tenants for which a
 * process has streams, so all tenants are watched.
 * @param lineOf the line of a notification
 * @returns the open responses, to which the caller adds
 */
export async function shareChanges(
  connectionString: string,
  lineOf: (payload: string) => string,
): Promise<Set<ServerResponse>> {
  const client = new pg.Client({ connectionString });
  await client.connect();
  await client.query('LISTEN berth_changes');
  await client.query(
    `WITH watcher AS (
       INSERT INTO change_watchers (id, expires_at) VALUES (gen_random_uuid(), now() + interval '1 day') RETURNING id
     ) INSERT INTO watched_tenants (tenant_id, watcher_id) SELECT tenants.id, watcher.id FROM tenants, watcher`,
  );
  const open = new Set<ServerResponse>();
  client.on('notification', ({ payload = '' }) => {
    const line = lineOf(payload);
    for (const response of open) response.write(line);
  });
  return open;
}
