import pg from 'pg';
import { connectionConfig, describeTarget } from './connection.ts';
import { StoreError, StoreUnavailable, translateError } from './errors.ts';

/**
 * Detects a pooler that gives each transaction another session of the server. Behind such a pooler, the tenant of a
 * session, LISTEN and the lock of migrations belong to other clients.
 */

const TIMEOUT_MS = 10_000;
const ROUNDS = 3;
const PID = 'SELECT pg_backend_pid() AS pid';

async function pidOf(client: pg.Client): Promise<number> {
  const { rows } = await client.query<{ pid: number }>(PID);
  return rows[0]?.pid ?? 0;
}

/**
 * Whether two open connections kept one session each: neither of them changed its process of the server, and they did
 * not share one. The first connection asks twice in each round, so that a pooler that alternates between two
 * sessions is found too.
 */
async function keepSessions(one: pg.Client, other: pg.Client): Promise<boolean> {
  const pids = { one: new Set<number>(), other: new Set<number>() };
  for (let round = 0; round < ROUNDS; round += 1) {
    pids.one.add(await pidOf(one)).add(await pidOf(one));
    pids.other.add(await pidOf(other));
  }
  // The other connection keeps its session in this transaction, so a pooler must give the first one another session.
  await other.query('BEGIN');
  pids.other.add(await pidOf(other));
  pids.one.add(await pidOf(one));
  await other.query('ROLLBACK');
  return new Set([...pids.one, ...pids.other]).size === 2 && pids.one.size === 1 && pids.other.size === 1;
}

/**
 * Checks that each connection to DATABASE_URL has one session of PostgreSQL for its lifetime. Opens two connections.
 * @throws StoreError with the next step behind a pooler in transaction or statement mode; StoreUnavailable
 */
export async function checkSessions(url: string): Promise<void> {
  const clients = [0, 1].map(() => new pg.Client(connectionConfig(url, TIMEOUT_MS))) as [
    pg.Client,
    pg.Client,
  ];
  // The statement in flight reports the error. Without this handler, the error would end the process.
  for (const client of clients) client.on('error', () => undefined);
  const target = describeTarget(url);
  let areKept: boolean;
  try {
    for (const client of clients) await client.connect();
    areKept = await keepSessions(...clients);
  } catch (thrown) {
    const error = translateError(thrown);
    // PgBouncer rejects BEGIN in statement mode.
    if (error instanceof StoreUnavailable && /transaction blocks not allowed/.test(error.message))
      throw withoutSessions(target);
    if (!(error instanceof StoreUnavailable)) throw error;
    const cause = error.message.replace(/^failed to reach PostgreSQL: /, '');
    throw new StoreUnavailable(`${target}: ${cause}`, error.connection, error.sqlState ?? undefined);
  } finally {
    await Promise.all(clients.map((client) => client.end().catch(() => undefined)));
  }
  if (!areKept) throw withoutSessions(target);
}

const withoutSessions = (target: string) =>
  new StoreError(
    `failed to use ${target} of DATABASE_URL: a pooler in transaction or statement mode gives each transaction another session, and Berth needs ` +
      `sessions for row-level security, LISTEN, prepared statements and the lock of migrations; next: set pool_mode=session for this database in the ` +
      `pooler, or set DATABASE_URL to PostgreSQL itself`,
    { retryable: false },
  );
