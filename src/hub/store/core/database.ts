import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { UUID_PATTERN } from '../../../domain/core/id.ts';
import type { Logger } from '../../../domain/core/logger.ts';
import { NO_TENANT } from '../../../domain/scheduling/fair-limiter.ts';
import {
  connectionConfig,
  describeTarget,
  limitSession,
  type PoolClient,
  typeParsers,
} from './connection.ts';
import { ConnectionLimiter } from './connection-limiter.ts';
import { drizzle, type NodePgDatabase } from './drizzle.ts';
import { StoreContention, StoreError, StoreUnavailable, translateError } from './errors.ts';
import { type Statement, valuesOf } from './statement.ts';

/**
 * Runs statements on one connection, one at a time, for one tenant or for the whole platform (`*`). Ordinary statements
 * use drizzle's typed builder. Hot statements are modules in `sql/`, which `run` executes.
 */
export interface Reader {
  /** The tenant whose rows row-level security shows; `*`: all tenants. */
  readonly tenantId: string;
  readonly drizzle: NodePgDatabase;
  /** Runs a text that is not prepared: savepoints, checks of the server, and statements of tests. */
  query<Row>(text: string, values?: readonly unknown[]): Promise<Row[]>;
  /** Runs a statement of `sql/`, prepared once per connection. */
  run<Parameters extends object, Row>(
    statement: Statement<Parameters, Row>,
    values: Parameters,
  ): Promise<Row[]>;
}

/** A Reader inside a transaction, which all functions that write require. */
export interface Transaction extends Reader {
  readonly inTransaction: true;
}

export interface TransactionOptions {
  /**
   * false: COMMIT does not wait for the disk. A crash of PostgreSQL within about half a second can undo the whole
   * transaction, but no earlier transaction. A later commit that waits also makes this transaction durable. Default:
   * true.
   */
  readonly durable?: boolean;
  /**
   * true: the planner avoids sequential scans when an index finds the rows. For queries of few rows of large tables,
   * when the planner cannot know that the rows are few. Statements that are also used in such transactions need this
   * setting in every transaction, because a connection caches plans. Default: false.
   */
  readonly byIndex?: boolean;
}

/** Access for one tenant or the platform. */
export interface Scope {
  /**
   * Runs `work` in one transaction, which is committed or rolled back as a whole. After a serialization failure or a
   * deadlock, `work` runs again (at most 5 times), so `work` must have no effect outside the database.
   * @throws StoreError; StoreUnavailable when the connection broke. If the connection broke at COMMIT, the outcome is
   * unknown
   */
  transaction<T>(work: (transaction: Transaction) => Promise<T>, options?: TransactionOptions): Promise<T>;
  /**
   * Runs `work`, which only reads. Each statement sees its own snapshot. `work` runs again if the connection is dead.
   */
  read<T>(work: (reader: Reader) => Promise<T>): Promise<T>;
}

/** The pool of connections to PostgreSQL. */
export interface Database {
  forTenant(tenantId: string): Scope;
  /** Access for work across tenants: administration, housekeeping, tracing. */
  readonly platform: Scope;
  /** Like `platform`, with a separate share of the connections for this group of work. */
  forPlatform(group: string): Scope;
  /** @throws StoreUnavailable when PostgreSQL does not respond, or is a standby */
  ping(): Promise<void>;
  /** The current state of the pool. */
  pool(): PoolStats;
  /** Waits for running work, then closes all connections. Safe to call twice. */
  close(): Promise<void>;
}

/** Number of connections of a pool. */
export interface PoolStats {
  /** Maximum number of connections. */
  readonly max: number;
  /** Open connections, including idle connections. */
  readonly total: number;
  readonly idle: number;
  /** Number of callers that wait for a connection. */
  readonly waiting: number;
}

export interface DatabaseOptions {
  /** postgres://user:password@host:port/name */
  url: string;
  /** Maximum number of connections. */
  poolSize: number;
  logger: Logger;
  /** Timeout of a statement, in milliseconds; default 10,000. */
  statementTimeoutMs?: number;
  /** Maximum wait for a new or a pooled connection, in milliseconds; default 5,000. */
  connectTimeoutMs?: number;
}

const MAX_ATTEMPTS = 5;
const RETRY_BASE_MS = 5;
const PLATFORM = '*';

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
    return this.#execute(null, text, values);
  }

  run<Parameters extends object, Row>(
    statement: Statement<Parameters, Row>,
    values: Parameters,
  ): Promise<Row[]> {
    return this.#execute(statement.name, statement.text, valuesOf(statement, values));
  }

  async #execute<Row>(name: string | null, text: string, values: readonly unknown[]): Promise<Row[]> {
    try {
      const prepared = name === null ? {} : { name };
      const result = await this.#client.query({
        text,
        values: values as unknown[],
        types: typeParsers,
        ...prepared,
      });
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
  // JIT is disabled, because before PostgreSQL 18, the high cost of a plan that must scan a table sequentially would
  // cause a compilation.
  const planning = byIndex ? '; SET LOCAL enable_seqscan = off; SET LOCAL jit = off' : '';
  // One round trip for all settings. tenantId is `*` or a UUID (checked in forTenant), so it is safe as a literal.
  await client.query(`BEGIN; SET LOCAL berth.tenant_id = '${tenantId}'${waiting}${planning}`);
}

async function commit(client: PoolClient): Promise<void> {
  const { command } = await client.query('COMMIT');
  // PostgreSQL responds to COMMIT of a failed transaction with a silent rollback.
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

/**
 * The tenant of a session remains set between transactions, so that consecutive reads for one tenant need no additional
 * round trip.
 */
async function enter(client: PoolClient, tenantId: string): Promise<void> {
  client.tenantId = null;
  await client.query(`SET berth.tenant_id = '${tenantId}'`);
  client.tenantId = tenantId;
}

/** @throws StoreUnavailable, which closes the connection, because its address may now belong to another server */
async function checkPrimary(reader: Reader): Promise<void> {
  const [row] = await reader.query<{ standby: boolean }>('SELECT pg_is_in_recovery() AS standby');
  if (row?.standby === true)
    throw new StoreUnavailable(
      'the server is a read-only standby; next: point DATABASE_URL to the primary',
      'lost',
    );
}

/** The reason why work may run again: a conflict with another transaction, or a dead connection. */
type Again = 'contention' | 'dead' | null;

type Outcome<T> =
  | { readonly done: true; readonly value: T }
  | { readonly done: false; readonly error: unknown; readonly again: Again };

/** Returns the connection to the pool. */
type Attempt<T> = (client: PoolClient) => Promise<Outcome<T>>;

/** The state of the connection after an error. */
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
    // A connection that was lost before BEGIN has executed no statement, so work may run again.
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
 * Opens the pool. Connections are opened on demand, so this call does not fail while PostgreSQL is unavailable (see
 * `ping`). A connection that is lost while idle is logged and replaced.
 */
export function openDatabase(options: DatabaseOptions): Database {
  const { logger, poolSize, connectTimeoutMs = 5_000, statementTimeoutMs = 10_000 } = options;
  const target = describeTarget(options.url);
  const pool = new pg.Pool({
    ...connectionConfig(options.url, statementTimeoutMs),
    onConnect: (client) => limitSession(client, statementTimeoutMs),
    connectionTimeoutMillis: connectTimeoutMs,
    max: poolSize,
    idleTimeoutMillis: 60_000,
  });
  pool.on('error', (error) =>
    logger.warn({ target, err: error.message }, 'lost an idle database connection'),
  );
  // The pool does not listen for errors of a connection in use. Without this handler, the loss of a connection in use
  // would end the process.
  pool.on('connect', (client) => client.on('error', () => undefined));

  const notConnected = (error: Error): unknown => {
    const translated = translateError(error);
    if (!(translated instanceof StoreUnavailable)) return translated;
    return new StoreUnavailable(
      `${target}: ${translated.message.replace(/^failed to reach PostgreSQL: /, '')}`,
      translated.connection,
    );
  };
  // The callback form is used, because pg's own promise creates two more promises for a stack trace.
  const connect = (): Promise<PoolClient> =>
    new Promise((resolve, reject) => {
      pool.connect((error, client) => {
        if (client === undefined) reject(notConnected(error ?? new Error('no connection is available')));
        else resolve(client);
      });
    });

  const connections = new ConnectionLimiter({ poolSize, waitMs: connectTimeoutMs });
  const runOnce = <T>(group: string, attempt: Attempt<T>): Promise<Outcome<T>> =>
    connections.run(group, async () => attempt(await connect()));
  const run = async <T>(group: string, attempt: Attempt<T>): Promise<T> => {
    const runs = { contention: 0, dead: 0 };
    for (;;) {
      const outcome = await runOnce(group, attempt);
      if (outcome.done) return outcome.value;
      const { again, error } = outcome;
      if (again === null) throw error;
      runs[again] += 1;
      // Maximum number of attempts. After a restart of PostgreSQL, at most the idle connections of the pool can be
      // dead.
      if (runs[again] >= (again === 'dead' ? poolSize + 1 : MAX_ATTEMPTS)) throw error;
      logger.debug({ target, runs, err: String(error) }, 'retrying a transaction');
      if (again === 'contention') await sleep(Math.random() * RETRY_BASE_MS * 2 ** runs.contention);
    }
  };

  const scope = (tenantId: string, group = tenantId): Scope => ({
    transaction: (work, options = {}) =>
      run(group, (client) => attemptTransaction(client, tenantId, work, options)),
    read: (work) => run(group, (client) => attemptRead(client, tenantId, work)),
  });

  let closing: Promise<void> | null = null;
  const forPlatform = (group: string) => scope(PLATFORM, group);
  return {
    forTenant(tenantId) {
      if (!UUID_PATTERN.test(tenantId)) throw new TypeError('failed to set the tenant: its id is not a UUID');
      return scope(tenantId);
    },
    platform: forPlatform(NO_TENANT),
    forPlatform,
    // The ping runs in a transaction, so that on a standby, each ping closes one connection instead of renewing all
    // connections of the pool.
    ping: () => forPlatform('ping').transaction(checkPrimary),
    pool: () => ({
      max: poolSize,
      total: pool.totalCount,
      idle: pool.idleCount,
      waiting: connections.waiting,
    }),
    close() {
      closing ??= pool.end();
      return closing;
    },
  };
}
