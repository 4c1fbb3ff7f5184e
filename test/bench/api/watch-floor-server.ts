/**
 * The floor of the bench of streams of changes: node:http and pg. It receives the notifications of the triggers over one
 * connection, and writes a line to each open response.
 *
 *   node watch-floor-server.ts FILE_WITH_THE_URL
 */
import { readFileSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import pg from 'pg';

const client = new pg.Client({ connectionString: readFileSync(process.argv[2] ?? '', 'utf8') });
await client.connect();
await client.query('LISTEN berth_changes');
// Triggers send notifications of tenants for which a process has streams.
await client.query(
  `WITH watcher AS (
     INSERT INTO change_watchers (id, expires_at) VALUES (gen_random_uuid(), now() + interval '1 day') RETURNING id
   ) INSERT INTO watched_tenants (tenant_id, watcher_id) SELECT tenants.id, watcher.id FROM tenants, watcher`,
);
const open = new Set<ServerResponse>();
client.on('notification', ({ payload = '' }) => {
  const [, deployment = '', generation = '', transaction = ''] = payload.split(' ');
  const change = { type: 'change', key: `${transaction}_${deployment}`, deployment_id: deployment };
  const line = `${JSON.stringify({ ...change, generation: Number(generation) })}\n`;
  for (const response of open) response.write(line);
});
const server = createServer((_request, response) => {
  response.writeHead(200, { 'content-type': 'application/x-ndjson' });
  response.write('{"type":"reset"}\n');
  open.add(response);
  response.once('close', () => open.delete(response));
});
server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo;
  console.log(JSON.stringify({ msg: 'floor is ready', url: `http://127.0.0.1:${port}` }));
});
