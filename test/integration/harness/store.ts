/** A migrated database of its own for a test file, used as an ordinary role: row-level security binds it. */
import { randomBytes } from 'node:crypto';
import { inject } from 'vitest';
import { uuidv7 } from '../../../src/domain/core/id.ts';
import type { Logger } from '../../../src/domain/core/logger.ts';
import { PLATFORM_LISTENER_ID } from '../../../src/domain/deployment/source.ts';
import { type Database, openDatabase, type Scope } from '../../../src/hub/store/core/database.ts';
import { EXPIRED, housekeep } from '../../../src/hub/store/core/housekeeping.ts';
import type { DeploymentRecord, NewDeployment } from '../../../src/hub/store/core/records.ts';
import { insertDeployment } from '../../../src/hub/store/deployments/deployments.ts';
import { createSecretBox, type SecretBox } from '../../../src/hub/store/secrets/secret-box.ts';
import { createTenant } from '../../../src/hub/store/tenancy/tenants.ts';
import { ordinaryDatabase } from '../../cluster/ordinary-database.ts';
import { type LocalPostgres, startPostgres } from '../../cluster/postgres.ts';
import { waitFor } from '../../cluster/wait.ts';
import { migratedDatabase } from './migrated-database.ts';

export { ordinaryDatabase };

/** Keeps log lines for assertions. */
export interface RecordingLogger extends Logger {
  readonly lines: { level: string; message: string; fields: object }[];
}

export function recordingLogger(): RecordingLogger {
  const lines: RecordingLogger['lines'] = [];
  const at = (level: string) => (fields: object, message: string) =>
    void lines.push({ level, message, fields });
  return { lines, debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
}

export interface StoreFixture {
  readonly server: LocalPostgres;
  /** URL as the ordinary role that owns the database. */
  readonly url: string;
  readonly database: Database;
  readonly box: SecretBox;
  readonly logger: RecordingLogger;
  /** Runs a statement as that role, past the store, on behalf of the platform. */
  sql<Row>(text: string, values?: unknown[]): Promise<Row[]>;
  stop(): Promise<void>;
}

/** The PostgreSQL of the run, or one of its own where there is none (or where the test stops and starts it). */
export function storeServer(options: { own?: boolean } = {}): Promise<LocalPostgres> {
  const environment = options.own === true ? undefined : inject('environment');
  return startPostgres({ databaseUrl: environment?.databaseUrl ?? undefined, log: () => undefined });
}

export async function startStore(options: { own?: boolean; poolSize?: number } = {}): Promise<StoreFixture> {
  const server = await storeServer(options);
  const logger = recordingLogger();
  const template = options.own === true ? '' : (inject('environment')?.template ?? '');
  const { url, drop } = await migratedDatabase(server, { template, logger });
  const poolSize = options.poolSize ?? 10;
  // Tests send fifty calls at once: on a slow machine the last of them waits long for a connection.
  const database = openDatabase({ url, poolSize, logger, connectTimeoutMs: 30_000 });
  const key = { id: 'test', key: randomBytes(32) };
  return {
    server,
    url,
    database,
    logger,
    box: createSecretBox({ keys: [key], primary: key.id }),
    sql: (text, values) => database.platform.read((reader) => reader.query(text, values)),
    stop: async () => {
      await database.close();
      await drop();
      await server.stop();
    },
  };
}

/** Waits until a statement of this database waits for a lock. */
export const untilLockWait = (store: StoreFixture, what: string): Promise<unknown> => {
  const isWaiting = async () => {
    const waiting = await store.sql(
      `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
    );
    return waiting.length > 0;
  };
  return waitFor(what, isWaiting, { timeoutMs: 30_000, intervalMs: 20 });
};

/** A new tenant with access on its behalf. */
export async function newTenant(store: StoreFixture): Promise<{ tenantId: string; scope: Scope }> {
  const { id } = await store.database.platform.transaction((transaction) =>
    createTenant(transaction, `tenant-${randomBytes(6).toString('hex')}`),
  );
  return { tenantId: id, scope: store.database.forTenant(id) };
}

/** A deployment as the API would make it; unset fields are null. */
export function newDeployment(name: string, more: Partial<NewDeployment> = {}): NewDeployment {
  const id = more.id ?? uuidv7();
  return {
    id,
    name,
    source: 'external_image',
    sourceConfig: {
      integration_id: null,
      repo_url: null,
      deployment_type: null,
      build_on_push: null,
      custom_url: null,
      resource_spec: null,
      listener_id: null,
      listener_config: null,
      install_command: null,
      build_command: null,
    },
    sourceRevisionConfig: {
      repo_ref: null,
      workflow_config_path: null,
      image_uri: 'registry.example/web:1.0.0',
      repo_commit_sha: null,
    },
    secrets: [],
    appName: `app-${id.slice(-8)}`,
    namespace: 'apps',
    listenerId: PLATFORM_LISTENER_ID,
    imageVersion: '1.0.0',
    revision: { id: uuidv7(), status: 'QUEUED' },
    actor: { kind: 'system', name: 'test' },
    ...more,
  };
}

/** Removes what has outlived its use, as the API does every hour. */
export const sweep = ({ database, logger }: StoreFixture): Promise<void> =>
  housekeep(database.platform, EXPIRED, logger, new AbortController().signal);

/** Inserts a deployment for a tenant. */
export function insert(
  store: StoreFixture,
  tenantId: string,
  name: string,
  more: Partial<NewDeployment> = {},
): Promise<DeploymentRecord> {
  const added = newDeployment(name, more);
  return store.database
    .forTenant(tenantId)
    .transaction((transaction) => insertDeployment(transaction, store.box, tenantId, added));
}
