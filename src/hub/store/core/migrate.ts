import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { fullJitter } from '../../../domain/core/backoff.ts';
import type { Logger } from '../../../domain/core/logger.ts';
import { connectionConfig, describeTarget, limitSession } from './connection.ts';
import type { Database, Reader } from './database.ts';
import { DrizzleQueryError, drizzle, migrate as runMigrations } from './drizzle.ts';
import {
  ForeignMigration,
  NotMigrated,
  StoreContention,
  StoreError,
  StoreUnavailable,
  translateError,
} from './errors.ts';
import { readDatabaseRole, unboundRole } from './row-security.ts';
import { checkSessions } from './session-check.ts';

const FOLDER = fileURLToPath(new URL('../migrations', import.meta.url));
const SCHEMA = 'berth_migrations';
const TABLE = 'applied';
/**
 * The number of the advisory lock, which must differ from the numbers of other programs. The digits are the word
 * "berth" on the keys of a telephone.
 */
const ADVISORY_LOCK = 23_784;
const MIN_SERVER_VERSION = 15;
const TIMEOUT_MS = 10 * 60_000;

/** How long migrations wait for table locks, in milliseconds. */
export interface LockTimeouts {
  /** Maximum wait for one lock. Other statements on the table queue behind this wait, and have ten seconds in total. */
  readonly lockMs: number;
  /** Minimum pause between two attempts, in which queued statements can run. */
  readonly pauseMs: number;
  /** Maximum time of all attempts. */
  readonly totalMs: number;
}

/**
 * Default timeouts. The total is less than the five minutes for which Helm waits for the Job. A failed Job starts
 * again.
 */
const PATIENCE: LockTimeouts = { lockMs: 3_000, pauseMs: 5_000, totalMs: 4 * 60_000 };
/** SQLSTATEs of a lock that was not acquired in time, or of a deadlock. */
const HELD_UP = new Set(['55P03', '40P01']);

interface Migration {
  readonly tag: string;
  /** Milliseconds since 1970. drizzle orders and records migrations by this time. */
  readonly when: number;
}

/** Hash of the text of a migration, as drizzle records it. */
const hashOf = (tag: string) =>
  createHash('sha256')
    .update(readFileSync(`${FOLDER}/${tag}.sql`, 'utf8'))
    .digest('hex');

function knownMigrations(): Migration[] {
  const journal = JSON.parse(readFileSync(`${FOLDER}/meta/_journal.json`, 'utf8')) as {
    entries: Migration[];
  };
  return journal.entries;
}

async function checkServer(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ version: number }>(
    `SELECT current_setting('server_version_num')::int / 10000 AS version`,
  );
  const version = rows[0]?.version ?? 0;
  if (version < MIN_SERVER_VERSION) {
    throw new NotMigrated(
      `failed to migrate: PostgreSQL ${version} is too old; next: use version ${MIN_SERVER_VERSION} or newer`,
    );
  }
}

/** The problem is only logged, because an administrator may prepare a database for another role. */
async function checkRole(client: pg.Client, target: string, logger: Logger): Promise<void> {
  const query = async <Row>(text: string) => (await client.query(text)).rows as Row[];
  const role = await readDatabaseRole({ query });
  if (role.unboundAs !== null) logger.warn({ target, user: role.name }, unboundRole(role));
}

interface AppliedMigration {
  readonly when: number;
  readonly hash: string;
}

/** The applied migrations, oldest first; null: no migration was ever applied. */
async function readApplied(reader: Pick<Reader, 'query'>): Promise<AppliedMigration[] | null> {
  const [table] = await reader.query<{ found: string | null }>(
    `SELECT to_regclass('${SCHEMA}.${TABLE}')::text AS found`,
  );
  if (table?.found == null) return null;
  return reader.query(
    `SELECT created_at::float8 AS "when", hash FROM ${SCHEMA}.${TABLE} ORDER BY created_at`,
  );
}

/**
 * Fails for a database that an unreleased version migrated, because it may lack objects that the released migration of
 * the same name creates.
 * @throws ForeignMigration
 */
function checkUnchanged(applied: readonly AppliedMigration[]): void {
  const changed = knownMigrations().find(({ tag, when }) =>
    applied.some((one) => one.when === when && one.hash !== hashOf(tag)),
  );
  if (changed === undefined) return;
  throw new ForeignMigration(
    `failed to use the database: its migration ${changed.tag} differs from this version's; next: use the version that created it, or a new database`,
  );
}

/** The waiting statement, shortened for the log. Migrations contain no values of rows. */
const statementOf = (thrown: unknown) =>
  thrown instanceof DrizzleQueryError
    ? thrown.query.replace(/\s+/g, ' ').trim().slice(0, 200)
    : 'a statement';

/**
 * Runs all migrations in one transaction, and retries while another session holds a lock that they need, such as a
 * running pg_dump or a forgotten transaction.
 */
async function runPatiently(
  client: pg.Client,
  target: string,
  logger: Logger,
  { lockMs, pauseMs, totalMs }: LockTimeouts,
): Promise<void> {
  await client.query(`SET lock_timeout = ${lockMs}`);
  const end = performance.now() + totalMs;
  for (let failures = 0; ; failures += 1) {
    try {
      await runMigrations(drizzle(client), {
        migrationsFolder: FOLDER,
        migrationsSchema: SCHEMA,
        migrationsTable: TABLE,
      });
      return;
    } catch (thrown) {
      const error = translateError(thrown);
      if (!(error instanceof StoreError) || !HELD_UP.has(error.sqlState ?? '')) throw thrown;
      const pause = pauseMs + fullJitter(failures, { baseMs: pauseMs, capMs: 4 * pauseMs }, Math.random);
      const waited = statementOf(thrown);
      if (performance.now() + pause > end) {
        throw new StoreContention(
          `${target}: another session kept a lock that the migration needs (${waited}), and nothing was changed; ` +
            `next: end the session that holds the lock, such as a pg_dump or a forgotten session (pg_stat_activity ` +
            `shows the xact_start of long transactions), and migrate again`,
          error.sqlState ?? '55P03',
        );
      }
      logger.warn(
        { target, statement: waited, attempt: failures + 1, pauseMs: Math.round(pause) },
        'another session holds a lock that the migration needs; the whole migration is retried after a pause',
      );
      await sleep(pause);
    }
  }
}

async function applyPending(
  client: pg.Client,
  target: string,
  logger: Logger,
  patience: LockTimeouts,
): Promise<string[]> {
  await checkServer(client);
  await checkRole(client, target, logger);
  // The lock is held until the connection closes. Other replicas wait for the lock, and then have no migrations to run.
  await client.query('SELECT pg_advisory_lock($1)', [ADVISORY_LOCK]);
  const query = async <Row>(text: string) => (await client.query(text)).rows as Row[];
  const applied = (await readApplied({ query })) ?? [];
  checkUnchanged(applied);
  const newest = applied.at(-1)?.when ?? Number.NEGATIVE_INFINITY;
  const pending = knownMigrations().filter(({ when }) => when > newest);
  if (pending.length === 0) {
    logger.info({ target }, 'the database is up to date');
    return [];
  }
  const tags = pending.map(({ tag }) => tag);
  logger.info({ target, migrations: tags }, `migrating the database: ${tags.join(', ')}`);
  // Migrations change rows of all tenants, and row-level security also applies to them.
  await client.query(`SET berth.tenant_id = '*'`);
  await runPatiently(client, target, logger, patience);
  logger.info({ target, migrations: tags }, 'the database is migrated');
  return tags;
}

/**
 * Migrates the database to this program's schema in one transaction. Several replicas can call it at once.
 * @returns the names of the applied migrations
 * @throws StoreUnavailable (a retry may help), StoreContention (other sessions kept a lock), NotMigrated (server too
 *   old)
 */
export async function migrate(
  url: string,
  logger: Logger,
  patience: LockTimeouts = PATIENCE,
): Promise<string[]> {
  const target = describeTarget(url);
  const client = new pg.Client(connectionConfig(url, TIMEOUT_MS));
  // The statement in flight reports the error. Without this handler, the error would end the process.
  client.on('error', () => undefined);
  try {
    // The lock of migrations belongs to a session.
    await checkSessions(url);
    await client.connect();
    await limitSession(client, TIMEOUT_MS);
    return await applyPending(client, target, logger, patience);
  } catch (thrown) {
    const error = translateError(thrown);
    if (!(error instanceof StoreUnavailable)) throw error;
    throw new StoreUnavailable(
      `${target}: ${error.message.replace(/^failed to reach PostgreSQL: /, '').replace(`${target}: `, '')}; next: check that PostgreSQL runs ` +
        `and that DATABASE_URL is correct`,
      error.connection,
    );
  } finally {
    await client.end().catch(() => undefined);
  }
}

/**
 * Fails unless the database has all migrations of this program. Additional migrations are accepted, because a newer
 * replica may have run.
 * @throws NotMigrated with the next step; StoreUnavailable
 */
export async function checkMigrated(database: Database): Promise<void> {
  const wanted = knownMigrations().at(-1);
  if (wanted === undefined) return;
  const next = 'next: run `berth migrate` with the same DATABASE_URL';
  const applied = await database.platform.read((reader) => readApplied(reader));
  if (applied === null) throw new NotMigrated(`failed to use the database: it is empty; ${next}`);
  checkUnchanged(applied);
  const newest = applied.at(-1)?.when ?? Number.NEGATIVE_INFINITY;
  if (newest < wanted.when) {
    throw new NotMigrated(`failed to use the database: the migration ${wanted.tag} was not applied; ${next}`);
  }
}
