/** Berth's API in a process of its own, on a database of its own, for a bench. */
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
import { COUNTING, tellingAtEnd } from '../statements.ts';

/** Connections to PostgreSQL of each API process, and of the floor: Berth's own default. */
export const POOL_SIZE = 10;

export interface ApiProcess {
  readonly url: string;
  readonly pid: number;
  stop(): Promise<void>;
}

export interface BenchHub {
  /** Folder of the checkout whose Berth runs. */
  readonly root: string;
  readonly databaseUrl: string;
  /** Key of the tenant with all scopes. */
  readonly apiKey: string;
  /** The tenant of the key; it is made by the first process that starts. */
  tenantId(): Promise<string>;
  /** Folder of settings, pids and logs; a watchdog ends what is left in it. */
  readonly stateDir: string;
  /** What secrets are sealed with. */
  readonly encryptionKey: { readonly id: string; readonly key: Buffer };
  /** Runs a statement on behalf of the platform. */
  sql<Row extends object>(text: string, values?: readonly unknown[]): Promise<Row[]>;
  /** Starts a process of the API; with another way to the database, or other settings. */
  startApi(name: string, more?: Readonly<Record<string, string>>): Promise<ApiProcess>;
  /** Ends what runs, and drops the database. */
  stop(): Promise<void>;
}

/** The PostgreSQL of the run. */
export const postgresOf = (context: BenchContext): Promise<LocalPostgres> =>
  context.shared('postgres', async () => {
    context.log('starting PostgreSQL');
    const { log, profiles } = context;
    const databaseUrl = process.env['DATABASE_URL'];
    const counts = profiles !== null && !databaseUrl;
    const postgres = await startPostgres({ databaseUrl, settings: counts ? COUNTING : {}, log });
    return counts ? tellingAtEnd(postgres, log) : postgres;
  });

/** Of the checkout that is measured. */
type Migrations = Pick<typeof import('../../../src/hub/store/core/migrate.ts'), 'migrate'>;

const SILENT: Logger = { debug() {}, info() {}, warn() {}, error() {} };

/** Makes a migrated database; no process runs yet. */
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
    // One that nobody reaches: what it takes to ask is part of a request.
    BERTH_RATE_LIMIT: '999999:999999',
  };
  const client = new pg.Client({ connectionString: database.url });
  const processes: ApiProcess[] = [];
  const stop = async () => {
    await Promise.all(processes.map((each) => each.stop()));
    await client.end().catch(() => undefined);
    await database.drop();
    // The watchdog ends what may be left, and removes the folder.
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
