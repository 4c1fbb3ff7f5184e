import pg from 'pg';
import type { NodePgDatabase } from './drizzle.ts';

/** A connection of the pool, with what is remembered of it. */
export type PoolClient = pg.PoolClient & {
  /** drizzle on this connection, made once. */
  builder?: NodePgDatabase;
  /** The session's `berth.tenant_id`. */
  tenantId?: string | null;
};

const INT8 = 20;

/** pg's parsers, but for bigint: our counters stay far below 2^53. */
export const typeParsers: pg.CustomTypesConfig = {
  getTypeParser: (oid, format) =>
    oid === INT8 ? (text: string) => Number(text) : pg.types.getTypeParser(oid, format),
};

/** `host:port/name` of a database URL, for messages: no user, no password. */
export function describeTarget(url: string): string {
  try {
    const { hostname, port, pathname } = new URL(url);
    return `${hostname === '' ? 'local socket' : hostname}:${port === '' ? '5432' : port}${pathname}`;
  } catch {
    return 'the database of DATABASE_URL (not a URL)';
  }
}

/** Settings that every connection shares. Times in milliseconds. */
export function connectionConfig(url: string, statementTimeoutMs: number): pg.ClientConfig {
  return {
    connectionString: url,
    application_name: 'berth',
    statement_timeout: statementTimeoutMs,
    // The server cancels first; this is for a server or network that no longer answers at all.
    query_timeout: statementTimeoutMs + 2_000,
    idle_in_transaction_session_timeout: statementTimeoutMs * 3,
    connectionTimeoutMillis: 5_000,
    keepAlive: true,
  };
}
