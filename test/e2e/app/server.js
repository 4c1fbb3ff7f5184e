// An app as the image contract describes it: PORT, DATABASE_URI, CACHE_URI. What it is asked, it does for real.
import { createServer } from 'node:http';
import { connect } from 'node:net';
import pg from 'pg';

const { APP_VERSION, COMPONENT, PORT, DATABASE_URI, CACHE_URI, REVISION_ID, GREETING, HEALTH_STATUS } =
  process.env;
const log = (line) => console.log(`${new Date().toISOString()} ${COMPONENT} ${line}`);

async function sql(text, values) {
  const client = new pg.Client({ connectionString: DATABASE_URI, connectionTimeoutMillis: 5000 });
  client.on('error', () => {});
  await client.connect();
  try {
    return (await client.query(text, values)).rows;
  } finally {
    await client.end();
  }
}

/** One command of the protocol of Redis; gives the first line of the answer, or the value. */
function cache(...words) {
  const { hostname, port } = new URL(CACHE_URI);
  return new Promise((resolve, reject) => {
    const socket = connect({ host: hostname, port: Number(port), timeout: 5000 });
    socket.once('error', reject).once('timeout', () => socket.destroy(new Error('no answer')));
    socket.once('data', (answer) => {
      socket.end();
      const [first, value] = answer.toString().split('\r\n');
      if (first.startsWith('-')) reject(new Error(first));
      else resolve(first.startsWith('$') ? value : first.slice(1));
    });
    socket.write(`*${words.length}\r\n${words.map((word) => `$${word.length}\r\n${word}\r\n`).join('')}`);
  });
}

// The status of GET /healthz. A test changes it while the app runs.
let health = Number(HEALTH_STATUS ?? 200);

const routes = {
  'GET /': async () => ({
    version: APP_VERSION,
    revision: REVISION_ID,
    greeting: GREETING,
    host: process.env.HOSTNAME,
  }),
  'POST /rows': async (value) => {
    await sql('CREATE TABLE IF NOT EXISTS notes (id bigint GENERATED ALWAYS AS IDENTITY, value text)');
    return await sql('INSERT INTO notes (value) VALUES ($1) RETURNING value', [value]);
  },
  'GET /rows': () => sql('SELECT value FROM notes ORDER BY id'),
  'GET /migrations': () => sql('SELECT name FROM migrations ORDER BY at'),
  'GET /database': () => sql('SELECT current_user, version()'),
  'POST /cache': (value) => cache('SET', 'note', value),
  'GET /cache': () => cache('GET', 'note'),
  'POST /healthz': async (value) => {
    health = Number(value);
    return health;
  },
};

const server = createServer(async (request, response) => {
  const url = new URL(request.url, 'http://app');
  log(`${request.method} ${url.pathname}`);
  if (request.method === 'GET' && url.pathname === '/healthz') return response.writeHead(health).end();
  try {
    const route = routes[`${request.method} ${url.pathname}`];
    if (!route) return response.writeHead(404).end();
    response.end(JSON.stringify(await route(url.searchParams.get('value'))));
  } catch (error) {
    response.writeHead(500).end(JSON.stringify({ error: String(error) }));
  }
});

process.on('SIGTERM', () => {
  log('asked to stop');
  server.close(() => process.exit(0));
  server.closeIdleConnections();
});
log(`version ${APP_VERSION} starts`);
if (COMPONENT === 'api') server.listen(Number(PORT), () => log(`listens on ${PORT}`));
else setInterval(() => {}, 60_000);
