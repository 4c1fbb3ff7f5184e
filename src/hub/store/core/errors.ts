import pg from 'pg';
import { DrizzleQueryError } from './drizzle.ts';

/** A call to the store failed. `retryable`: the same call can succeed later. The error contains no values of rows. */
export class StoreError extends Error {
  readonly retryable: boolean;
  /** PostgreSQL's SQLSTATE, if the server responded. */
  readonly sqlState: string | null;
  constructor(message: string, options: { retryable: boolean; sqlState?: string }) {
    super(message);
    this.name = new.target.name;
    this.retryable = options.retryable;
    this.sqlState = options.sqlState ?? null;
  }
}

/** PostgreSQL is unreachable, shutting down, or too slow. A transaction in flight may or may not be committed. */
export class StoreUnavailable extends StoreError {
  /** The state of the connection: `lost` (another connection may work at once), `stuck` (no response), `usable`. */
  readonly connection: 'lost' | 'stuck' | 'usable';
  constructor(cause: string, connection: 'lost' | 'stuck' | 'usable', sqlState?: string) {
    super(`failed to reach PostgreSQL: ${cause}`, { retryable: true, sqlState });
    this.connection = connection;
  }
}

/** Conflicts with other transactions exceeded the maximum number of attempts. */
export class StoreContention extends StoreError {
  constructor(cause: string, sqlState: string) {
    super(`failed to commit because of concurrent changes: ${cause}`, { retryable: true, sqlState });
  }
}

/** A row with the same unique value exists. `constraint` names the index of schema.ts, such as `deployments_name`. */
export class UniqueViolation extends StoreError {
  readonly constraint: string;
  constructor(constraint: string) {
    super(`failed to write: another row has the same value (${constraint})`, {
      retryable: false,
      sqlState: '23505',
    });
    this.constraint = constraint;
  }
}

/** A row refers to a row that does not exist, or a deleted row is still referenced. */
export class ReferenceViolation extends StoreError {
  readonly constraint: string;
  constructor(constraint: string) {
    super(`failed to write: a reference is violated (${constraint})`, {
      retryable: false,
      sqlState: '23503',
    });
    this.constraint = constraint;
  }
}

/** The row changed between read and write (another generation or status). The caller must read the row again. */
export class StaleWrite extends StoreError {
  constructor(what: string) {
    super(`failed to write ${what}: it was changed by another request`, { retryable: true });
  }
}

/** The schema of the database does not match this program. A retry can succeed only after `berth migrate`. */
export class NotMigrated extends StoreError {
  constructor(message: string) {
    super(message, { retryable: false });
  }
}

/**
 * Another version of Berth created the database, with a different migration of the same name. No migration can fix
 * this.
 */
export class ForeignMigration extends NotMigrated {}

/** An encrypted value was changed, belongs to another row, or its key is not configured. */
export class SecretBoxError extends StoreError {
  constructor(message: string) {
    super(message, { retryable: false });
  }
}

/** SQLSTATEs after which the whole transaction can be retried. */
const CONTENTION = new Set(['40001', '40P01']);
/** SQLSTATEs of aborted statements (timeout, lock, resources). The connection remains usable. */
const GIVEN_UP = /^(53|57014$|55P03$)/;
/**
 * SQLSTATEs of an ended or rejected session (28P01: the password is being changed, 28000: pg_hba.conf has no rule), of prepared plans of an older
 * schema (0A000), and of a read-only server (25006: a standby, or the primary before a failover).
 */
const SESSION_ENDED = /^(08|57P|58|25P0[34]$|25006$|28(000|P01)$|0A000$)/;
const CONNECTION_LOST =
  /^(Connection terminated|Client has encountered|Client was closed|Cannot use a pool after|Connection ended)/;
const NO_ANSWER = /^(Query read timeout|timeout exceeded when trying to connect|timeout expired)/;
const SYSTEM_CODE = /^(ECONN|EPIPE|ENOTFOUND|EAI_|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|ENOENT|EADDRNOTAVAIL)/;

/** Codes of OpenSSL and Node for a certificate that was not accepted, and for other failures of the handshake. */
const CERTIFICATE =
  /^(CERT_|ERR_TLS_CERT_ALTNAME_INVALID|DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT|UNABLE_TO_|HOSTNAME_MISMATCH)/;
const HANDSHAKE = /^(ERR_SSL_|EPROTO)/;
const WITHOUT_TLS = /^(The server does not support SSL connections|There was an error establishing an SSL)/;

/** The message for a failed TLS handshake with the next step. null: the error has another cause. */
function tlsFailure(error: Error, code: string | null): string | null {
  if (WITHOUT_TLS.test(error.message))
    return 'the server does not accept TLS, which sslmode in DATABASE_URL requires; next: enable TLS on the server';
  if (code !== null && CERTIFICATE.test(code))
    return (
      `the certificate of the server was not accepted: ${error.message}; next: check the host of DATABASE_URL and the ` +
      'certificate, and trust its authority with sslrootcert or caBundle (docs/install.md)'
    );
  return code !== null && HANDSHAKE.test(code) ? `the TLS handshake failed: ${error.message}` : null;
}

function fromServer(error: pg.DatabaseError): StoreError {
  const code = error.code ?? '';
  if (CONTENTION.has(code)) return new StoreContention(error.message, code);
  if (code === '23505') return new UniqueViolation(error.constraint ?? 'unknown');
  if (code === '23503') return new ReferenceViolation(error.constraint ?? 'unknown');
  if (GIVEN_UP.test(code)) return new StoreUnavailable(error.message, 'usable', code);
  if (SESSION_ENDED.test(code)) return new StoreUnavailable(error.message, 'lost', code);
  if (code === '42P01' || code === '3F000') {
    return new NotMigrated(
      `failed to use the database: ${error.message}; next: run \`berth migrate\` with the same DATABASE_URL`,
    );
  }
  return new StoreError(`failed to run a statement: ${error.message}`, { retryable: false, sqlState: code });
}

/** The code of a failed connection attempt, even if Node tried several addresses. */
function systemCode(error: Error): string | null {
  const first: unknown = error instanceof AggregateError ? error.errors[0] : error;
  const code: unknown = first instanceof Error && 'code' in first ? first.code : null;
  return typeof code === 'string' ? code : null;
}

/**
 * Converts errors of pg and drizzle to StoreErrors. Other errors are returned unchanged. Parameters and the server's
 * DETAIL are dropped, because both can contain values of rows.
 */
export function translateError(thrown: unknown): unknown {
  const error = thrown instanceof DrizzleQueryError ? thrown.cause : thrown;
  if (!(error instanceof Error) || error instanceof StoreError) return error;
  if (error instanceof pg.DatabaseError) return fromServer(error);
  const code = systemCode(error);
  const tls = tlsFailure(error, code);
  if (tls !== null) return new StoreUnavailable(tls, 'lost');
  if (code !== null && SYSTEM_CODE.test(code)) {
    const nameless = error instanceof AggregateError || error.message === '';
    return new StoreUnavailable(nameless ? code : error.message, 'lost');
  }
  if (NO_ANSWER.test(error.message)) return new StoreUnavailable(error.message, 'stuck');
  return CONNECTION_LOST.test(error.message) ? new StoreUnavailable(error.message, 'lost') : error;
}
