/** Statements of the store, which pg prepares once per connection: each execution returns its own rows. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openDatabase, type Reader } from '../../../../src/hub/store/core/database.ts';
import { statement } from '../../../../src/hub/store/core/statement.ts';
import { type StoreFixture, startStore } from '../../harness/store.ts';

let store: StoreFixture;
beforeAll(async () => {
  store = await startStore();
});
afterAll(() => store.stop());

const names = new Map<string, string>();

/** Runs a text as a statement of `sql/`: with a name, so that the connection prepares it. */
function run(reader: Reader, text: string, values: Record<string, unknown> = {}): Promise<object[]> {
  const name = names.get(text) ?? `prepared_${names.size}`;
  names.set(text, name);
  return reader.run(statement<Record<string, unknown>, object>(name, text), values);
}

/** Runs `work` on a database with one connection, so that its statements are prepared by the first execution. */
async function onOneConnection(work: (scope: ReturnType<typeof openDatabase>['platform']) => Promise<void>) {
  const database = openDatabase({ url: store.url, poolSize: 1, logger: store.logger });
  try {
    await work(database.platform);
  } finally {
    await database.close();
  }
}

test('each execution returns its own rows, with the types of their columns', () =>
  onOneConnection(async ({ read }) => {
    const text = `SELECT n::int8 AS n, n || 'x' AS word, NULL AS nothing, '2026-01-02T03:04:05Z'::timestamptz AS at,
      '{"a":[1]}'::jsonb AS json, '\\x0102'::bytea AS bytes FROM generate_series(1, :count::int) AS n`;
    const row = (n: number) => ({
      n,
      word: `${n}x`,
      nothing: null,
      at: new Date('2026-01-02T03:04:05Z'),
      json: { a: [1] },
      bytes: Buffer.from([1, 2]),
    });
    const rows = (count: number) => read((reader) => run(reader, text, { count }));
    expect(await rows(1)).toEqual([row(1)]);
    expect(await rows(3)).toEqual([row(1), row(2), row(3)]);
    expect(await rows(0)).toEqual([]);
  }));

test('statements without rows return none, in transactions that commit or roll back', () =>
  onOneConnection(async ({ read, transaction }) => {
    await read((reader) => run(reader, 'CREATE TEMPORARY TABLE notes (id int, note text)'));
    for (let id = 0; id < 3; id += 1) {
      const failure = new Error('undo');
      const done = transaction(async (writer) => {
        const values = { id, note: `note ${id}` };
        expect(await run(writer, 'INSERT INTO notes VALUES (:id, :note)', values)).toEqual([]);
        if (id === 1) throw failure;
      });
      if (id === 1) await expect(done).rejects.toBe(failure);
      else await done;
      const last = id === 1 ? 0 : id;
      const text = 'SELECT id, note FROM notes ORDER BY id DESC LIMIT 1';
      expect(await read((reader) => run(reader, text))).toEqual([{ id: last, note: `note ${last}` }]);
    }
  }));

test('a statement that failed, at first or later, works again', () =>
  onOneConnection(async ({ read }) => {
    const divide = (by: number) => read((reader) => run(reader, 'SELECT 6 / :by::int AS result', { by }));
    await expect(divide(0)).rejects.toMatchObject({ sqlState: '22012' });
    expect(await divide(2)).toEqual([{ result: 3 }]);
    await expect(divide(0)).rejects.toMatchObject({ sqlState: '22012' });
    expect(await divide(3)).toEqual([{ result: 2 }]);
    const wrong = () => read((reader) => run(reader, 'SELECT no_such_column'));
    await expect(wrong()).rejects.toMatchObject({ sqlState: '42703' });
    await expect(wrong()).rejects.toMatchObject({ sqlState: '42703' });
    expect(await divide(6)).toEqual([{ result: 1 }]);
  }));

test('a read returns columns of the new type after a migration changes it', () =>
  onOneConnection(async ({ read }) => {
    const query = (text: string) => read((reader) => run(reader, text));
    await query('CREATE TABLE changing (n int)');
    await query('INSERT INTO changing VALUES (7)');
    expect(await query('SELECT * FROM changing')).toEqual([{ n: 7 }]);
    await query('ALTER TABLE changing ALTER n TYPE text');
    // PostgreSQL rejects the former plan (0A000), and the read runs again on a new connection.
    expect(await query('SELECT * FROM changing')).toEqual([{ n: '7' }]);
  }));
