/** Migrations: from nothing, by several at once, checked, and what is said when they are missing. */
import { readdirSync } from 'node:fs';
import pg from 'pg';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { PLATFORM_LISTENER_ID } from '../../../../src/domain/deployment/source.ts';
import { openDatabase } from '../../../../src/hub/store/core/database.ts';
import {
  ForeignMigration,
  NotMigrated,
  StoreContention,
  StoreUnavailable,
} from '../../../../src/hub/store/core/errors.ts';
import { checkMigrated, migrate } from '../../../../src/hub/store/core/migrate.ts';
import { findTenantByName } from '../../../../src/hub/store/tenancy/tenants.ts';
import type { LocalPostgres } from '../../../cluster/postgres.ts';
import { ordinaryDatabase, recordingLogger, storeServer } from '../../harness/store.ts';

/** The migrations by name, in order: each is a file. */
const tags = readdirSync('src/hub/store/migrations')
  .filter((file) => file.endsWith('.sql'))
  .map((file) => file.replace(/\.sql$/, ''))
  .sort();

let server: LocalPostgres;
beforeAll(async () => {
  server = await storeServer();
});
afterAll(() => server.stop());

async function emptyDatabase() {
  const { url, drop } = await ordinaryDatabase(server);
  const database = openDatabase({ url, poolSize: 2, logger: recordingLogger() });
  onTestFinished(async () => {
    await database.close();
    await drop();
  });
  return { url, database };
}

test('one of several replicas migrates, and the others find nothing to do', async () => {
  const { url, database } = await emptyDatabase();
  const loggers = Array.from({ length: 4 }, recordingLogger);
  const applied = await Promise.all(loggers.map((logger) => migrate(url, logger)));
  expect(applied.filter((names) => names.length > 0)).toEqual([tags]);
  await checkMigrated(database);
  const messages = loggers.flatMap(({ lines }) => lines.map(({ message }) => message)).sort();
  expect(messages).toEqual([
    `migrating the database: ${tags.join(', ')}`,
    'the database is migrated',
    'the database is up to date',
    'the database is up to date',
    'the database is up to date',
  ]);
  const listeners = await database.platform.read((reader) =>
    reader.query('SELECT id, tenant_id, compute_id FROM listeners'),
  );
  expect(listeners).toEqual([{ id: PLATFORM_LISTENER_ID, tenant_id: null, compute_id: 'local' }]);
});

test('an empty and an outdated database are reported with the next step', async () => {
  const { url, database } = await emptyDatabase();
  const failure = () => checkMigrated(database).catch((error: unknown) => error);
  expect(await failure()).toBeInstanceOf(NotMigrated);
  expect(String(await failure())).toMatch(/it is empty; next: run `berth migrate`/);
  const statement = await database.platform
    .read((reader) => findTenantByName(reader, 'x'))
    .catch((error: unknown) => error);
  expect(String(statement)).toMatch(/next: run `berth migrate`/);
  await migrate(url, recordingLogger());
  await database.platform.transaction((tx) =>
    tx.query(
      'DELETE FROM berth_migrations.applied WHERE id = (SELECT max(id) FROM berth_migrations.applied)',
    ),
  );
  expect(String(await failure())).toContain(
    `the migration ${tags.at(-1)} was not applied; next: run \`berth migrate\``,
  );
});

test('a migration with another content is rejected by the check and by the next migration', async () => {
  const { url, database } = await emptyDatabase();
  await migrate(url, recordingLogger());
  await database.platform.transaction((tx) =>
    tx.query(
      `UPDATE berth_migrations.applied SET hash = 'of before' WHERE id = (SELECT max(id) FROM berth_migrations.applied)`,
    ),
  );
  for (const failing of [checkMigrated(database), migrate(url, recordingLogger())]) {
    const error = await failing.catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(ForeignMigration);
    expect(String(error)).toContain(`its migration ${tags.at(-1)} differs from this version's; next:`);
  }
});

test('a failed migration leaves no partial change', async () => {
  const { url, database } = await emptyDatabase();
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  onTestFinished(() => client.end());
  await client.query('CREATE TABLE tenants (foreign_table int)');
  await expect(migrate(url, recordingLogger())).rejects.toThrow();
  const tables = await database.platform.read((reader) =>
    reader.query(`SELECT tablename FROM pg_tables WHERE schemaname = 'public'`),
  );
  expect(tables).toEqual([{ tablename: 'tenants' }]);
  await client.query('DROP TABLE tenants');
  expect(await migrate(url, recordingLogger())).toEqual(tags);
});

/** A migration that alters the table `listeners`, and those after it. */
const missing = tags.slice(7);

/** A database that lacks these migrations, and a session that reads the table that is altered, as pg_dump does. */
async function readerInTheWay() {
  const { url, database } = await emptyDatabase();
  await migrate(url, recordingLogger());
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  onTestFinished(() => client.end());
  await client.query(
    `DROP FUNCTION berth_is_watched, berth_send_hint, berth_hint_of_part, berth_hint_of_deployment,
       berth_hint_of_listener, berth_count_listener_state CASCADE`,
  );
  await client.query('DROP TABLE watched_tenants, change_watchers');
  await client.query('ALTER TABLE log_requests DROP COLUMN kind, DROP COLUMN awaits_listener');
  await client.query(
    'ALTER TABLE listeners DROP COLUMN awaits_inventory, DROP COLUMN abilities, DROP COLUMN state_version',
  );
  await client.query('DROP TABLE deployment_hosts, uploads, tasks');
  await client.query('DROP TABLE device_logins, access_tokens, sessions, people');
  await client.query('DROP FUNCTION berth_claim_hosts CASCADE');
  await client.query('ALTER TABLE tenants DROP COLUMN domain_token');
  await client.query(
    `ALTER TABLE deployments DROP COLUMN symptoms, DROP COLUMN former_sizes, DROP COLUMN quota_gpus,
       DROP COLUMN quota_gpus_generation, DROP COLUMN observed_domains, DROP COLUMN removing_claim,
       DROP COLUMN updated_by`,
  );
  await client.query('ALTER TABLE events DROP COLUMN position');
  await client.query('DROP FUNCTION berth_event_position, berth_event_horizon');
  await client.query('DROP SEQUENCE event_positions');
  await client.query(
    `DROP INDEX deployments_on_their_way_out, deployments_other_spellings, log_requests_by_deployment,
       webhook_deliveries_of_ids, events_by_tenant_reason`,
  );
  await client.query(
    `DELETE FROM berth_migrations.applied WHERE id IN (SELECT id FROM berth_migrations.applied ORDER BY id DESC LIMIT ${missing.length})`,
  );
  await client.query('BEGIN');
  await client.query('LOCK TABLE listeners IN ACCESS SHARE MODE');
  return {
    url,
    client,
    read: () => database.platform.read((reader) => reader.query('SELECT 1 FROM listeners')),
  };
}

test('a migration waits for the lock of another session without blocking readers', async () => {
  const { url, client, read } = await readerInTheWay();
  const logger = recordingLogger();
  const told = Promise.withResolvers<void>();
  const warn = (fields: object, message: string) => {
    logger.warn(fields, message);
    told.resolve();
  };
  const migrating = migrate(url, { ...logger, warn }, { lockMs: 100, pauseMs: 20, totalMs: 60_000 });
  await told.promise;
  await read();
  await client.query('COMMIT');
  expect(await migrating).toEqual(missing);
  expect(logger.lines.find(({ level }) => level === 'warn')).toMatchObject({
    message:
      'another session holds a lock that the migration needs; the whole migration is retried after a pause',
    fields: { statement: expect.stringContaining('ALTER TABLE "listeners"'), attempt: 1 },
  });
});

test('a migration fails with the next step and without a change when a lock is never released', async () => {
  const { url, client, read } = await readerInTheWay();
  const patience = { lockMs: 50, pauseMs: 20, totalMs: 100 };
  const error = await migrate(url, recordingLogger(), patience).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(StoreContention);
  expect(String(error)).toMatch(
    /ALTER TABLE "listeners".*; next: end the session that holds the lock.*pg_stat_activity/,
  );
  await read();
  await client.query('COMMIT');
  expect(await migrate(url, recordingLogger())).toEqual(missing);
});

test('a migration reports an unreachable PostgreSQL as retryable, with the next step and without the password', async () => {
  const error = await migrate('postgres://user:hunter2@127.0.0.1:1/berth', recordingLogger()).catch(
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(StoreUnavailable);
  expect(String(error)).toMatch(/127\.0\.0\.1:1\/berth: .*ECONNREFUSED.*; next: check that PostgreSQL runs/);
  expect(String(error)).not.toContain('hunter2');
});
