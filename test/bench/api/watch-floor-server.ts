/**
 * The floor of the bench of streams of changes: node:http and pg. It receives the notifications of the triggers over one
 * connection, and writes a line to each open response.
 *
 *   node watch-floor-server.ts FILE_WITH_THE_URL
 */
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { shareChanges } from './change-lines.ts';

const open = await shareChanges(readFileSync(process.argv[2] ?? '', 'utf8'), (payload) => {
  const [, deployment = '', generation = '', transaction = ''] = payload.split(' ');
  const change = { type: 'change', key: `${transaction}_${deployment}`, deployment_id: deployment };
  return `${JSON.stringify({ ...change, generation: Number(generation) })}\n`;
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
