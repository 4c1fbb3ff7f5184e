import pg from 'pg';
import type { NodePgDatabase } from './drizzle.ts';
import { withTlsMode } from './tls-mode.ts';

/** A connection of the pool, with its cached state. */
export type PoolClient = pg.PoolClient & {
  /** The drizzle instance of this connection, created once. */
  builder?: NodePgDatabase;
  /** Value of `berth.tenant_id` in the session. */
  tenantId?: string | null;
};

const INT8 = 20;
const TIMESTAMPTZ = 1184;

/** The format of nearly all times in a session with the time zone UTC. */
const UTC_TIME = /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d{1,6})?\+00$/;
const anyTime: (text: string) => Date = pg.types.getTypeParser(TIMESTAMPTZ, 'text');

/** Parses a time of PostgreSQL. pg's own parser takes several times as long, and a list has hundreds of times. */
export function parseTime(text: string): Date {
  return UTC_TIME.test(text) ? new Date(`${text.slice(0, 10)}T${text.slice(11, -3)}Z`) : anyTime(text);
}

/** pg's parsers, except for times and bigint. Counters of Berth are far below 2^53. */
export const typeParsers: pg.CustomTypesConfig = {
  getTypeParser(oid, format) {
    if (oid === INT8) return Number;
    return oid === TIMESTAMPTZ && format !== 'binary' ? parseTime : pg.types.getTypeParser(oid, format);
  },
};

/** `host:port/name` of a database URL for messages, without user and password. */
export function describeTarget(url: string): string {
  try {
    const { hostname, port, pathname } = new URL(url);
    return `${hostname === '' ? 'local socket' : hostname}:${port === '' ? '5432' : port}${pathname}`;
  } catch {
    return 'the database of DATABASE_URL (not a URL)';
  }
}

/**
 * Settings of every connection. Times are in milliseconds. `limitSession` sets the timeouts of the server.
 * @throws StoreError for an `sslmode` that Berth does not accept
 */
export function connectionConfig(url: string, statementTimeoutMs: number): pg.ClientConfig {
  return {
    connectionString: withTlsMode(url),
    application_name: 'berth',
    // The server cancels a statement first. This timeout is for a server or network that does not respond at all.
    query_timeout: statementTimeoutMs + 2_000,
    connectionTimeoutMillis: 5_000,
    keepAlive: true,
  };
}

/**
 * Sets the timeouts of the server in a new session. pg would send them as startup parameters, which PgBouncer rejects or,
 * with `ignore_startup_parameters`, drops.
 */
export async function limitSession(client: pg.ClientBase, statementTimeoutMs: number): Promise<void> {
  await client.query(
    `SET statement_timeout = ${statementTimeoutMs}; SET idle_in_transaction_session_timeout = ${statementTimeoutMs * 3}`,
  );
}
