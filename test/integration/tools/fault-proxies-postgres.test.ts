/** The proxy before PostgreSQL, each fault as the pool and the LISTEN of a client see it. */
import net from 'node:net';
import pg from 'pg';
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { STARTUP_CODES } from '../../faults/proxies/postgres-framing.ts';
import { startPostgresProxy } from '../../faults/proxies/postgres-proxy.ts';
import type { PostgresProxy, SqlMessage } from '../../faults/proxies/postgres-traffic.ts';
import { postgres, uniqueName } from '../harness/environment.ts';

const PATIENCE = { timeout: 30_000, interval: 20 };
let admin: pg.Pool;
let url: string;
let drop: () => Promise<void>;

beforeAll(async () => {
  const server = await postgres();
  const name = uniqueName('proxies').replaceAll('-', '_');
  url = await server.createDatabase(name);
  drop = () => server.dropDatabase(name);
  admin = new pg.Pool({ connectionString: url, max: 2 });
  await admin.query('CREATE TABLE marks (name text PRIMARY KEY)');
});
afterAll(async () => {
  await admin.end();
  await drop();
});

/** A proxy and a pool of it; nothing of them is left after the test. */
async function through(max = 2): Promise<{ proxy: PostgresProxy; pool: pg.Pool; via: string }> {
  const proxy = await startPostgresProxy();
  const via = await proxy.urlFor('tester', url);
  const pool = new pg.Pool({ connectionString: via, max });
  // An idle connection that is cut.
  pool.on('error', () => undefined);
  onTestFinished(async () => {
    await pool.end();
    await proxy.stop();
    expect(proxy.connections()).toBe(0);
  });
  return { proxy, pool, via };
}

const says =
  (part: string) =>
  ({ sql }: SqlMessage) =>
    sql.includes(part);

async function isMarked(name: string): Promise<boolean> {
  return (await admin.query('SELECT FROM marks WHERE name = $1', [name])).rowCount === 1;
}

/** Inserts in a transaction. @throws what its COMMIT throws */
async function mark(pool: pg.Pool, name: string): Promise<void> {
  const client = await pool.connect();
  // Of a connection that breaks while it is lent.
  client.on('error', () => undefined);
  let failure: Error | undefined;
  try {
    await client.query('BEGIN');
    await client.query('INSERT INTO marks (name)\n  VALUES ($1)', [name]);
    await client.query('COMMIT');
  } catch (error) {
    failure = error as Error;
    throw error;
  } finally {
    client.release(failure);
  }
}

test('forwards and records statements that match no rule: simple, extended and prepared ones', async () => {
  const { proxy, pool } = await through(1);
  await mark(pool, 'plain');
  const named = { name: 'count', text: 'SELECT count(*)::int AS n FROM marks' };
  for (const _ of [1, 2]) expect((await pool.query(named)).rows).toEqual([{ n: 1 }]);
  const text = 'x'.repeat(3_000_000);
  expect((await pool.query('SELECT $1::text AS text', [text])).rows).toEqual([{ text }]);
  expect(proxy.messages('tester').map(({ connection, sql }) => [connection, sql])).toEqual([
    [1, 'BEGIN'],
    [1, 'INSERT INTO marks (name) VALUES ($1)'],
    [1, 'COMMIT'],
    [1, named.text],
    [1, named.text],
    [1, 'SELECT $1::text AS text'],
  ]);
});

test('fails the client with "lose" and "refuse" at COMMIT, and commits only with "lose"', async () => {
  const { proxy, pool } = await through();
  proxy.add({ match: says('COMMIT'), fault: { kind: 'lose' }, times: 1 });
  await expect(mark(pool, 'lose')).rejects.toThrow();
  expect(await isMarked('lose')).toBe(true);
  proxy.add({ match: says('COMMIT'), fault: { kind: 'refuse' }, times: 1 });
  await expect(mark(pool, 'refuse')).rejects.toThrow();
  expect(await isMarked('refuse')).toBe(false);
  await mark(pool, 'at last');
});

test('runs the action of "before" before it sends a statement, and that of "after" before it returns the response', async () => {
  const { proxy, pool } = await through();
  const seen: boolean[] = [];
  const run = async () => void seen.push(await isMarked('around'));
  proxy.add({ match: says('COMMIT'), fault: { kind: 'before', run }, times: 1 });
  await mark(pool, 'around');
  expect(seen).toEqual([false]);
  await admin.query(`DELETE FROM marks WHERE name = 'around'`);
  // Of the extended protocol.
  proxy.add({ match: says('INSERT'), fault: { kind: 'after', run }, times: 1 });
  const inserted = await pool.query('INSERT INTO marks VALUES ($1) RETURNING name', ['around']);
  expect([inserted.rows, seen]).toEqual([[{ name: 'around' }], [false, true]]);
});

test('forwards nothing with "before" when the client disconnects meanwhile', async () => {
  const { proxy, via } = await through();
  const client = new pg.Client({ connectionString: via });
  client.on('error', () => undefined);
  await client.connect();
  const socket = (client as unknown as { connection: { stream: { destroy(): void } } }).connection.stream;
  const run = async () => socket.destroy();
  const killing = proxy.add({ match: says('INSERT'), fault: { kind: 'before', run } });
  await expect(client.query(`INSERT INTO marks VALUES ('killed')`)).rejects.toThrow();
  await killing.waitTaken();
  await vi.waitFor(() => expect(proxy.connections()).toBe(0), PATIENCE);
  await proxy.stop();
  expect(await isMarked('killed')).toBe(false);
});

test('stops while an action of "before" never completes', async () => {
  const { proxy, via } = await through();
  const client = new pg.Client({ connectionString: via });
  client.on('error', () => undefined);
  await client.connect();
  const run = () => new Promise<void>(() => undefined);
  const kept = proxy.add({ match: says('SELECT'), fault: { kind: 'before', run }, times: 1 });
  const asked = expect(client.query('SELECT 1')).rejects.toThrow();
  await kept.waitTaken();
  await proxy.stop();
  await asked;
  expect(proxy.connections()).toBe(0);
});

test('holds a statement with "hold" until open(), and then executes it', async () => {
  const { proxy, pool } = await through();
  const held = proxy.add({ match: says('COMMIT'), fault: { kind: 'hold' }, times: 1 });
  const marking = mark(pool, 'hold');
  await held.waitTaken();
  expect(await isMarked('hold')).toBe(false);
  proxy.open('tester');
  await marking;
  expect(await isMarked('hold')).toBe(true);
});

test('drops notifications while dropNotifications is on, and keeps the connection', async () => {
  const { proxy, via } = await through();
  const listening = new pg.Client({ connectionString: via });
  await listening.connect();
  onTestFinished(() => listening.end());
  const heard: (string | undefined)[] = [];
  listening.on('notification', ({ payload }) => heard.push(payload));
  await listening.query('LISTEN proxies');
  const notify = (payload: string) => admin.query(`SELECT pg_notify('proxies', $1)`, [payload]);
  proxy.dropNotifications(true);
  await notify('dropped');
  // PostgreSQL tells what is due before it answers.
  await listening.query('SELECT 1');
  proxy.dropNotifications(false);
  expect(proxy.droppedNotifications()).toBe(1);
  await notify('heard');
  await vi.waitFor(() => expect(heard).toEqual(['heard']), PATIENCE);
  expect(proxy.droppedNotifications()).toBe(1);
});

test('ends a blackhole and a cut with open()', async () => {
  const { proxy, pool } = await through();
  const ask = () => pool.query('SELECT 1');
  await ask();
  proxy.blackhole();
  const silent = ask();
  const answered = vi.fn();
  silent.then(answered, () => undefined);
  await admin.query('SELECT pg_sleep(0.1)');
  expect(answered).not.toHaveBeenCalled();
  proxy.open();
  await expect(silent).rejects.toThrow();
  await ask();
  proxy.cut('tester');
  await expect(ask()).rejects.toThrow();
  proxy.open('tester');
  await ask();
});

test('passes a cancel request on a connection of its own', async () => {
  const { pool, via } = await through();
  const client = await pool.connect();
  const { processID, secretKey } = client as unknown as { processID: number; secretKey: number };
  const sleeping = client.query('SELECT pg_sleep(60)');
  const failed = expect(sleeping).rejects.toMatchObject({ code: '57014' });
  await vi.waitFor(async () => {
    const active = `SELECT FROM pg_stat_activity WHERE pid = $1 AND query LIKE '%pg_sleep(60)%'`;
    expect((await admin.query(active, [processID])).rowCount).toBe(1);
  }, PATIENCE);
  const request = Buffer.alloc(16);
  for (const [index, value] of [16, STARTUP_CODES.cancel, processID, secretKey].entries())
    request.writeInt32BE(value, index * 4);
  net.connect(Number(new URL(via).port), '127.0.0.1').end(request);
  await failed;
  client.release();
});
