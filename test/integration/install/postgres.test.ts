/** The PostgreSQL of the tests itself: databases, crash and restart. */
import pg from 'pg';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { type LocalPostgres, startPostgres } from '../../cluster/postgres.ts';

let server: LocalPostgres;
beforeAll(async () => {
  server = await startPostgres();
});
afterAll(() => server.stop());

async function connect(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => {});
  await client.connect();
  onTestFinished(async () => {
    await client.end().catch(() => {});
  });
  return client;
}

test('the server has the settings of a production server', async () => {
  const client = await connect(server.url);
  const { rows } = await client.query(
    `SELECT current_setting('fsync') AS fsync, current_setting('TimeZone') AS zone, current_setting('server_version_num')::int >= 150000 AS recent`,
  );
  expect(rows).toEqual([{ fsync: 'on', zone: 'UTC', recent: true }]);
});

test('creates and drops databases with any name, also while they are in use', async () => {
  const url = await server.createDatabase('it\'s a "name" 1');
  const client = await connect(url);
  const { rows } = await client.query('SELECT current_database() AS name');
  expect(rows).toEqual([{ name: 'it\'s a "name" 1' }]);
  await server.dropDatabase('it\'s a "name" 1');
  await expect(connect(url)).rejects.toThrow(/does not exist/);
});

test.each(['fast', 'immediate'] as const)('keeps committed rows after a "%s" stop', async (mode) => {
  const url = await server.createDatabase(`stop_${mode}`);
  const client = await connect(url);
  await client.query('CREATE TABLE t (n int)');
  await client.query('INSERT INTO t VALUES (1)');
  await client.query('BEGIN');
  await client.query('INSERT INTO t VALUES (2)');
  await server.stopServer(mode);
  await expect(client.query('COMMIT')).rejects.toThrow();
  await expect(connect(url)).rejects.toThrow();
  await server.startServer();
  const { rows } = await (await connect(url)).query('SELECT n FROM t');
  expect(rows).toEqual([{ n: 1 }]);
});

test('uses the server at a given URL and leaves it running', async () => {
  const given = await startPostgres({ databaseUrl: server.url });
  const url = await given.createDatabase('given');
  await given.stop();
  await connect(url);
});

test('reports a server that cannot be reached, without the password', async () => {
  const starting = startPostgres({ databaseUrl: 'postgres://me:hidden@127.0.0.1:1/db' });
  await expect(starting).rejects.toThrow(/failed to connect .*127\.0\.0\.1:1.*unset DATABASE_URL/);
  await expect(starting).rejects.not.toThrow(/hidden/);
});
