/**
 * The floor of the bench of the console: node:http and pg. A page without a library shows the newest deployments in a table. It
 * reads a stream of changes, and requests the row of each.
 *
 *   node console-floor-server.ts FILE_WITH_THE_URL
 */
import { readFileSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import pg from 'pg';
import { shareChanges } from '../api/change-lines.ts';

/** As many as the first page of the console requests. */
const ROWS = 100;

const PAGE = `<!doctype html><title>floor</title><table><tbody></tbody></table><script type="module">
const body = document.querySelector('tbody');
const statuses = new Map();
const rows = async (query) => (await fetch('/rows' + query)).json();
for (const { id, name, status } of await rows('')) {
  const row = body.insertRow();
  const link = document.createElement('a');
  link.href = '/deployments/' + id;
  link.textContent = name;
  row.insertCell().append(link);
  const cell = row.insertCell();
  cell.textContent = status;
  statuses.set(id, cell);
}
const lines = (await fetch('/v2/watch')).body.pipeThrough(new TextDecoderStream());
let rest = '';
for await (const chunk of lines) {
  const complete = (rest + chunk).split('\\n');
  rest = complete.pop();
  for (const line of complete) {
    const { deployment_id: id } = JSON.parse(line);
    const [row] = id ? await rows('?id=' + id) : [];
    if (row) statuses.get(id).textContent = row.status;
  }
}
</script>`;

const connectionString = readFileSync(process.argv[2] ?? '', 'utf8');
const pool = new pg.Pool({ connectionString, options: '-c berth.tenant_id=*' });
const open = await shareChanges(connectionString, (payload) => {
  const [, deployment = ''] = payload.split(' ');
  return `${JSON.stringify({ type: 'change', deployment_id: deployment })}\n`;
});

const SELECT = 'SELECT id, name, recorded_status AS status FROM deployments';
async function sendRows(response: ServerResponse, id: string | null): Promise<void> {
  const { rows } =
    id === null
      ? await pool.query(`${SELECT} ORDER BY id DESC LIMIT ${ROWS}`)
      : await pool.query(`${SELECT} WHERE id = $1`, [id]);
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(rows));
}

const server = createServer((request, response) => {
  const url = new URL(request.url ?? '/', 'http://127.0.0.1');
  if (url.pathname === '/rows') void sendRows(response, url.searchParams.get('id'));
  else if (url.pathname === '/v2/watch') {
    response.writeHead(200, { 'content-type': 'application/x-ndjson' }).flushHeaders();
    open.add(response);
    response.once('close', () => open.delete(response));
  } else response.writeHead(200, { 'content-type': 'text/html' }).end(PAGE);
});
server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo;
  console.log(JSON.stringify({ msg: 'floor is ready', url: `http://127.0.0.1:${port}` }));
});
