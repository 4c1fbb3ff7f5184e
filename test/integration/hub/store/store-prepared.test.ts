/** Prepared statements: what they answer, and how often PostgreSQL is asked for their columns. */
import pg from 'pg';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { typeParsers } from '../../../../src/hub/store/core/connection.ts';
import { runPrepared } from '../../../../src/hub/store/core/prepared-query.ts';
import { type StoreFixture, startStore } from '../../harness/store.ts';

let store: StoreFixture;
beforeAll(async () => {
  store = await startStore();
});
afterAll(() => store.stop());

/** A connection that counts the questions for columns. */
async function connect() {
  const client = new pg.Client({ connectionString: store.url });
  await client.connect();
  onTestFinished(() => client.end());
  const { connection } = client as unknown as { connection: { describe(message: object): void } };
  const { describe } = connection;
  let described = 0;
  connection.describe = (message) => {
    described += 1;
    describe.call(connection, message);
  };
  const run = async (name: string, text: string, values: readonly unknown[] = []) =>
    (await runPrepared(client, { name, text, values, types: typeParsers })).rows;
  return { client, run, described: () => described };
}

test('a prepared statement asks for its columns once per connection, and each execution has its own rows', async () => {
  const { run, described } = await connect();
  const text = `SELECT n::int8 AS n, n || 'x' AS word, NULL AS nothing, '2026-01-02T03:04:05Z'::timestamptz AS at,
    '{"a":[1]}'::jsonb AS json, '\\x0102'::bytea AS bytes FROM generate_series(1, $1::int) AS n`;
  const row = (n: number) => ({
    n,
    word: `${n}x`,
    nothing: null,
    at: new Date('2026-01-02T03:04:05Z'),
    json: { a: [1] },
    bytes: Buffer.from([1, 2]),
  });
  expect(await run('rows', text, [1])).toEqual([row(1)]);
  expect(await run('rows', text, [3])).toEqual([row(1), row(2), row(3)]);
  expect(await run('rows', text, [0])).toEqual([]);
  expect(described()).toBe(1);
  const other = await connect();
  expect(await other.run('rows', text, [2])).toEqual([row(1), row(2)]);
  expect(other.described()).toBe(1);
});

test('prepared statements keep their columns separate between other statements and in transactions', async () => {
  const { client, run, described } = await connect();
  await client.query('CREATE TEMPORARY TABLE notes (id int, note text)');
  for (let id = 0; id < 3; id += 1) {
    await client.query('BEGIN');
    expect(await run('insert', 'INSERT INTO notes VALUES ($1, $2)', [id, `note ${id}`])).toEqual([]);
    await client.query(id === 1 ? 'ROLLBACK' : 'COMMIT');
    const rows = await run('select', 'SELECT id, note FROM notes ORDER BY id DESC LIMIT 1');
    const last = id === 1 ? 0 : id;
    expect(rows).toEqual([{ id: last, note: `note ${last}` }]);
  }
  // The rest are those of the client's own queries: simple ones, without columns to ask for.
  expect(described()).toBe(2);
});

test('a prepared statement works again after a failed execution', async () => {
  const { run } = await connect();
  const divide = (by: number) => run('divide', 'SELECT 6 / $1::int AS result', [by]);
  await expect(divide(0)).rejects.toMatchObject({ code: '22012' });
  expect(await divide(2)).toEqual([{ result: 3 }]);
  await expect(divide(0)).rejects.toMatchObject({ code: '22012' });
  expect(await divide(3)).toEqual([{ result: 2 }]);
  await expect(run('wrong', 'SELECT no_such_column')).rejects.toMatchObject({ code: '42703' });
  await expect(run('wrong', 'SELECT no_such_column')).rejects.toMatchObject({ code: '42703' });
  await expect(run('unsound', 'SELECT $1::jsonb AS json', [{ a: 1n }])).rejects.toBeInstanceOf(TypeError);
  expect(await divide(6)).toEqual([{ result: 1 }]);
});

test('a prepared statement fails when its columns have changed, and never decodes them as before', async () => {
  const { client, run } = await connect();
  await client.query('CREATE TEMPORARY TABLE changing (n int); INSERT INTO changing VALUES (7)');
  expect(await run('all', 'SELECT * FROM changing')).toEqual([{ n: 7 }]);
  await client.query('ALTER TABLE changing ALTER n TYPE text');
  await expect(run('all', 'SELECT * FROM changing')).rejects.toMatchObject({ code: '0A000' });
});
