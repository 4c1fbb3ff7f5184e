import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { UUID_PATTERN } from '../../../domain/core/id.ts';
import type { Logger } from '../../../domain/core/logger.ts';
import { NOBODY } from '../../../domain/scheduling/turns.ts';
import { connectionConfig, describeTarget, jsonAsText, type PoolClient, typeParsers } from './connection.ts';
import { ConnectionPlaces } from './connection-places.ts';
import { drizzle, type NodePgDatabase } from './drizzle.ts';
import { StoreContention, StoreError, StoreUnavailable, translateError } from './errors.ts';
import { runPrepared } from './prepared-query.ts';

/**
 * Runs statements on one connection, one at a time, on behalf of one tenant (or of the whole platform: `*`).
 * Hot paths use `query` with SQL text; the rest uses drizzle's typed builder.
 */
export interface Reader {
  /** The tenant whose rows row-level security lets through; `*`: all. */
  readonly tenantId: string;
  readonly drizzle: NodePgDatabase;
  /** Runs one statement, prepared once a connection. `text` must be one of few constants, values go in parameters. */
  query<Row>(text: string, values?: readonly unknown[]): Promise<Row[]>;
  /** As `query`, with jsonb as its text: for rows that are read over and over (`polled-json.ts`). */
  queryTexts<Row>(text: string, values?: readonly unknown[]): Promise<Row[]>;
}

/** A Reader inside of a transaction: functions that write ask for this. */
export interface Transaction extends Reader {
  readonly inTransaction: true;
}

export interface TransactionOptions {
  /**
   * false: COMMIT does not wait for the disk. A crash of PostgreSQL within about half a second may take back what was
   * written, all of it and nothing that was committed before; a later commit that waits keeps it as well. Default: true.
   */
  readonly durable?: boolean;
  /**
   * true: plans made in it read no table whole where an index leads to the rows. For few rows of large tables, where the
   * planner cannot know that they are few. Also for what shares statements with such work: the connection keeps a plan.
   * Default: false.
   */
  readonly byIndex?: boolean;
}

/** Access on behalf of one tenant or of the platform. */
export interface Scope {
  /**
   * Runs `work` in one transaction: all of it is committed or nothing. On a serialization failure or a deadlock the
   * whole is run again (at most 5 times), so `work` must have no effect outside of the database.
   * @throws StoreError; StoreUnavailable when the connection broke: at COMMIT, the outcome is unknown
   */
  transaction<T>(work: (transaction: Transaction) => Promise<T>, options?: TransactionOptions): Promise<T>;
  /** Runs `work`, which only reads: each statement sees its own snapshot. Run again if the connection turns out dead. */
  read<T>(work: (reader: Reader) => Promise<T>): Promise<T>;
}

/** The pool of connections to PostgreSQL. */
export interface Database {
  forTenant(tenantId: string): Scope;
  /** For work across tenants: keys, listeners, housekeeping. */
  readonly platform: Scope;
  /** @throws StoreUnavailable when PostgreSQL does not answer, or is a standby */
  ping(): Promise<void>;
  /** The pool at present. */
  pool(): PoolStats;
  /** Waits for what is running, then closes all connections. Safe to call twice. */
  close(): Promise<void>;
}

/** Connections of a pool. */
export interface PoolStats {
  /** Most connections. */
  readonly max: number;
  /** Those that are open, idle ones included. */
  readonly total: number;
  readonly idle: number;
  /** Who waits for one. */
  readonly waiting: number;
}

export interface DatabaseOptions {
  /** postgres://user:password@host:port/name */
  url: string;
  /** Most connections. */
  poolSize: number;
  logger: Logger;
  /** A statement that takes longer is cancelled. Milliseconds; default 10,000. */
  statementTimeoutMs?: number;
  /** Longest wait for a connection, be it a new one or one of a full pool. Milliseconds; default 5,000. */
  connectTimeoutMs?: number;
}

const MAX_ATTEMPTS = 5;
const RETRY_BASE_MS = 5;
const MAX_STATEMENT_NAMES = 400;
const PLATFORM = '*';

/** By how values are parsed, which a connection remembers with the name. */
const statementNames = new Map([
  [typeParsers, new Map<string, string>()],
  [jsonAsText, new Map<string, string>()],
]);
let namedStatements = 0;

/** Name of the prepared statement of a text; beyond a bound, new texts run unnamed rather than fill the server. */
function statementName(text: string, types: pg.CustomTypesConfig): string | undefined {
  const names = statementNames.get(types);
  const known = names?.get(text);
  if (known !== undefined || namedStatements >= MAX_STATEMENT_NAMES) return known;
  const name = `berth_${namedStatements}`;
  names?.set(text, name);
  namedStatements += 1;
  return name;
}

class Session implements Transaction {
  readonly inTransaction = true;
  readonly tenantId: string;
  readonly drizzle: NodePgDatabase;
  readonly #client: PoolClient;

  constructor(client: PoolClient, tenantId: string) {
    this.#client = client;
    this.tenantId = tenantId;
    client.builder ??= drizzle(client);
    this.drizzle = client.builder;
  }

  query<Row>(text: string, values: readonly unknown[] = []): Promise<Row[]> {
    return this.#query(text, values, typeParsers);
  }

  queryTexts<Row>(text: string, values: readonly unknown[] = []): Promise<Row[]> {
    return this.#query(text, values, jsonAsText);
  }

  async #query<Row>(text: string, values: readonly unknown[], types: pg.CustomTypesConfig): Promise<Row[]> {
    try {
      const name = statementName(text, types);
      const statement = { text, values: values as unknown[], types };
      const result = await (name === undefined
        ? this.#client.query(statement)
        : runPrepared(this.#client, { ...statement, name }));
      return result.rows as Row[];
    } catch (error) {
      throw translateError(error);
    }
  }
}

async function begin(
  client: PoolClient,
  tenantId: string,
  { durable = true, byIndex = false }: TransactionOptions,
): Promise<void> {
  const waiting = durable ? '' : '; SET LOCAL synchronous_commit = off';
  // Until PostgreSQL 18 a plan that reads a table whole all the same is reckoned so dear that it would be compiled.
  const planning = byIndex ? '; SET LOCAL enable_seqscan = off; SET LOCAL jit = off' : '';
  // One round trip; tenantId is `*` or a UUID (checked in forTenant), so it is safe as a literal.
  await client.query(`BEGIN; SET LOCAL berth.tenant_id = '${tenantId}'${waiting}${planning}`);
}

async function commit(client: PoolClient): Promise<void> {
  const { command } = await client.query('COMMIT');
  // PostgreSQL answers COMMIT of a failed transaction with a silent rollback.
  if (command !== 'COMMIT') {
    throw new StoreError('failed to commit: a statement of the transaction had failed', { retryable: false });
  }
}

async function rollback(client: PoolClient): Promise<boolean> {
  try {
    await client.query('ROLLBACK');
    return true;
  } catch {
    return false;
  }
}

/** The session's tenant outlives transactions, so that a read costs no round trip for it while the tenant stays the same. */
async function enter(client: PoolClient, tenantId: string): Promise<void> {
  client.tenantId = null;
  await client.query(`SET berth.tenant_id = '${tenantId}'`);
  client.tenantId = tenantId;
}

/** @throws StoreUnavailable by which the connection goes: there may be another server behind its address by now */
async function checkPrimary(reader: Reader): Promise<void> {
  const [row] = await reader.query<{ standby: boolean }>('SELECT pg_is_in_recovery() AS standby');
  if (row?.standby === true)
    throw new StoreUnavailable(
      'it is a standby, which nothing can be written to; next: let DATABASE_URL lead to the primary',
      'lost',
    );
}

/** Why the same work may be run again: another transaction got in the way, or the connection was dead. */
type Again = 'contention' | 'dead' | null;

type Outcome<T> =
  | { readonly done: true; readonly value: T }
  | { readonly done: false; readonly error: unknown; readonly again: Again };

/** Gives the connection back to the pool. */
type Attempt<T> = (client: PoolClient) => Promise<Outcome<T>>;

/** What is left of the connection after an error. */
const connectionAfter = (error: unknown) => (error instanceof StoreUnavailable ? error.connection : 'usable');

async function attemptTransaction<T>(
  client: PoolClient,
  tenantId: string,
  work: (transaction: Transaction) => Promise<T>,
  options: TransactionOptions,
): Promise<Outcome<T>> {
  let begun = false;
  try {
    await begin(client, tenantId, options);
    begun = true;
    const value = await work(new Session(client, tenantId));
    await commit(client);
    client.release();
    return { done: true, value };
  } catch (thrown) {
    const error = translateError(thrown);
    const connection = connectionAfter(error);
    const clean = connection === 'usable' && (await rollback(client));
    client.release(!clean);
    if (error instanceof StoreContention) return { done: false, error, again: 'contention' };
    // A connection that was lost before BEGIN has done nothing.
    return { done: false, error, again: connection === 'lost' && !begun ? 'dead' : null };
  }
}

async function attemptRead<T>(
  client: PoolClient,
  tenantId: string,
  work: (reader: Reader) => Promise<T>,
): Promise<Outcome<T>> {
  try {
    if (client.tenantId !== tenantId) await enter(client, tenantId);
    const value = await work(new Session(client, tenantId));
    client.release();
    return { done: true, value };
  } catch (thrown) {
    const error = translateError(thrown);
    const connection = connectionAfter(error);
    client.release(connection !== 'usable');
    return { done: false, error, again: connection === 'lost' ? 'dead' : null };
  }
}

/**
 * Opens the pool; connections are made when needed, so this does not fail when PostgreSQL is away (see `ping`).
 * A connection lost while idle is logged and replaced.
 */
export function openDatabase(options: DatabaseOptions): Database {
  const { logger, poolSize, connectTimeoutMs = 5_000 } = options;
  const target = describeTarget(options.url);
  const pool = new pg.Pool({
    ...connectionConfig(options.url, options.statementTimeoutMs ?? 10_000),
    connectionTimeoutMillis: connectTimeoutMs,
    max: poolSize,
    idleTimeoutMillis: 60_000,
  });
  pool.on('error', (error) =>
    logger.warn({ target, err: error.message }, 'lost an idle database connection'),
  );
  // A connection in use has no listener of the pool's: without one of ours its loss would end the process.
  pool.on('connect', (client) => client.on('error', () => undefined));

  const notConnected = (error: Error): unknown => {
    const translated = translateError(error);
    if (!(translated instanceof StoreUnavailable)) return translated;
    return new StoreUnavailable(
      `${target}: ${translated.message.replace(/^failed to reach PostgreSQL: /, '')}`,
      translated.connection,
    );
  };
  // By a callback: pg's own promise comes with two more, for a stack trace.
  const connect = (): Promise<PoolClient> =>
    new Promise((resolve, reject) => {
      pool.connect((error, client) => {
        if (client === undefined) reject(notConnected(error ?? new Error('there is no connection')));
        else resolve(client);
      });
    });

  const places = new ConnectionPlaces({ poolSize, waitMs: connectTimeoutMs });
  const runOnce = async <T>(group: string, attempt: Attempt<T>): Promise<Outcome<T>> => {
    const turn = places.enter(group);
    if (turn !== undefined) await turn;
    try {
      return await attempt(await connect());
    } finally {
      places.leave(group);
    }
  };
  const run = async <T>(group: string, attempt: Attempt<T>): Promise<T> => {
    const runs = { contention: 0, dead: 0 };
    for (;;) {
      const outcome = await runOnce(group, attempt);
      if (outcome.done) return outcome.value;
      const { again, error } = outcome;
      if (again === null) throw error;
      runs[again] += 1;
      // After a restart of PostgreSQL, every idle connection of the pool may be dead, and no more than these.
      if (runs[again] >= (again === 'dead' ? poolSize + 1 : MAX_ATTEMPTS)) throw error;
      logger.debug({ target, runs, err: String(error) }, 'running a transaction again');
      if (again === 'contention') await sleep(Math.random() * RETRY_BASE_MS * 2 ** runs.contention);
    }
  };

  const scope = (tenantId: string, group = tenantId): Scope => ({
    transaction: (work, options = {}) =>
      run(group, (client) => attemptTransaction(client, tenantId, work, options)),
    read: (work) => run(group, (client) => attemptRead(client, tenantId, work)),
  });

  let closing: Promise<void> | null = null;
  const platform = scope(PLATFORM, NOBODY);
  return {
    forTenant(tenantId) {
      if (!UUID_PATTERN.test(tenantId)) throw new TypeError('failed to enter a tenant: its id is no UUID');
      return scope(tenantId);
    },
    platform,
    // In a transaction: of a standby's connections one goes with each ping, in place of a new one for each of the pool.
    ping: () => platform.transaction(checkPrimary),
    pool: () => ({ max: poolSize, total: pool.totalCount, idle: pool.idleCount, waiting: places.waiting }),
    close() {
      closing ??= pool.end();
      return closing;
    },
  };
}
