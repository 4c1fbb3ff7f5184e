/** Berth's API in a separate process with its own database, for a bench. */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, realpathSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import type { Logger } from '../../../src/domain/core/logger.ts';
import { ordinaryDatabase } from '../../cluster/ordinary-database.ts';
import { type LocalPostgres, startPostgres } from '../../cluster/postgres.ts';
import { runningPid, startWatchdog } from '../../cluster/processes.ts';
import { startBerth } from '../../installation/berth-process.ts';
import type { BenchContext } from '../bench.ts';
import { profiled } from '../profiles.ts';
import { COUNTING, withStatementReport } from '../statements.ts';

/** Number of PostgreSQL connections of each API process and of the floor. It is Berth's default. */
export const POOL_SIZE = 10;

export interface ApiProcess {
  readonly url: string;
  readonly pid: number;
  stop(): Promise<void>;
}

/** An API for a bench, and its database. */
export interface BenchHub {
  /** Folder of the measured checkout. */
  readonly root: string;
  readonly databaseUrl: string;
  /** Key of the tenant with all scopes. */
  readonly apiKey: string;
  /** The tenant of the key. The first process creates it. */
  tenantId(): Promise<string>;
  /** Folder of settings, pids and logs. A watchdog stops processes that are left. */
  readonly stateDir: string;
  /** The key that encrypts secrets. */
  readonly encryptionKey: { readonly id: string; readonly key: Buffer };
  /** Runs a statement with access to all tenants. */
  sql<Row extends object>(text: string, values?: readonly unknown[]): Promise<Row[]>;
  /** Starts an API process. @param more settings that replace the default ones */
  startApi(name: string, more?: Readonly<Record<string, string>>): Promise<ApiProcess>;
  /** Stops all processes, and drops the database. */
  stop(): Promise<void>;
}

/** The PostgreSQL of the run, which all benches share. */
export const postgresOf = (context: BenchContext): Promise<LocalPostgres> =>
  context.shared('postgres', async () => {
    context.log('starting PostgreSQL');
    const { log, profiles } = context;
    const databaseUrl = process.env['DATABASE_URL'];
    const counts = profiles !== null && !databaseUrl;
    const postgres = await startPostgres({ databaseUrl, settings: counts ? COUNTING : {}, log });
    return counts ? withStatementReport(postgres, log) : postgres;
  });

/** The migrations of the measured checkout. */
type Migrations = Pick<typeof import('../../../src/hub/store/core/migrate.ts'), 'migrate'>;

const SILENT: Logger = { debug() {}, info() {}, warn() {}, error() {} };

/** Creates a migrated database. No process runs yet. */
export async function prepareHub(context: BenchContext): Promise<BenchHub> {
  const postgres = await postgresOf(context);
  const database = await ordinaryDatabase(postgres, `bench_${randomBytes(6).toString('hex')}`);
  const stateDir = mkdtempSync(join(realpathSync(tmpdir()), 'berth-bench-'));
  const watchdog = startWatchdog(stateDir, { removeState: true });
  const apiKey = `berth_${randomBytes(32).toString('base64url')}`;
  const encryptionKey = { id: 'bench', key: randomBytes(32) };
  const settings = {
    DATABASE_URL: database.url,
    BERTH_HOST: '127.0.0.1',
    BERTH_PORT: '0',
    BERTH_METRICS_PORT: '0',
    BERTH_DATABASE_POOL: String(POOL_SIZE),
    BERTH_ENCRYPTION_KEYS: `${encryptionKey.id}:${encryptionKey.key.toString('base64')}`,
    BERTH_BOOTSTRAP_API_KEY: apiKey,
    // A limit that is never reached, so that the cost of the check is measured.
    BERTH_RATE_LIMIT: '999999:999999',
  };
  const client = new pg.Client({ connectionString: database.url });
  const processes: ApiProcess[] = [];
  const stop = async () => {
    await Promise.all(processes.map((each) => each.stop()));
    await client.end().catch(() => undefined);
    await database.drop();
    // The watchdog stops processes that are left, and removes the folder.
    watchdog.release();
  };
  try {
    const { migrate } = (await import(join(context.root, 'src/hub/store/core/migrate.ts'))) as Migrations;
    await migrate(database.url, SILENT);
    await client.connect();
    await client.query("SET berth.tenant_id = '*'");
    const hub: BenchHub = {
      root: context.root,
      databaseUrl: database.url,
      apiKey,
      stateDir,
      encryptionKey,
      async sql<Row extends object>(text: string, values: readonly unknown[] = []): Promise<Row[]> {
        return (await client.query<Row>(text, [...values])).rows;
      },
      async tenantId() {
        const [tenant] = await hub.sql<{ id: string }>('SELECT id FROM tenants ORDER BY id LIMIT 1');
        if (tenant === undefined) throw new Error('failed to find the tenant: no process has started yet');
        return tenant.id;
      },
      async startApi(name: string, more: Readonly<Record<string, string>> = {}): Promise<ApiProcess> {
        const started = await startBerth({
          stateDir,
          name,
          role: 'api',
          settings: profiled(context, name, { ...settings, ...more }),
          checkout: context.root,
        });
        const pid = runningPid(stateDir, name);
        if (pid === undefined) throw new Error(`failed to start ${name}: it has ended`);
        const api = { url: started.url, pid, stop: () => started.stop() };
        processes.push(api);
        return api;
      },
      stop,
    };
    return hub;
  } catch (error) {
    await stop();
    throw error;
  }
}
