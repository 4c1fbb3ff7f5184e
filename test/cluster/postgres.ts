/** A real PostgreSQL: the server at a given URL, or a new server on this machine. */
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import { freePorts, isPortTaken } from './ports.ts';
import {
  chownTo,
  type PostgresBinaries,
  postgresBinaries,
  type RunAs,
  unprivilegedUser,
} from './postgres-binaries.ts';
import {
  assertRunning,
  ProcessDiedError,
  runningPid,
  startProcess,
  startWatchdog,
  stopProcess,
  type Watchdog,
} from './processes.ts';
import { waitFor } from './wait.ts';

export interface PostgresOptions {
  /** URL of an existing server, whose user must be allowed to create databases. Default: a new server is started. */
  databaseUrl?: string;
  /** Whether commits wait for the disk. Default: true. */
  fsync?: boolean;
  /** Additional server settings, by name. */
  settings?: Record<string, string>;
  /** Receives progress messages. Default: standard error. */
  log?: (line: string) => void;
}

/** smart waits until clients disconnect, fast disconnects them, immediate is a crash with recovery at the next start. */
export type StopMode = 'smart' | 'fast' | 'immediate';

export interface LocalPostgres {
  /** URL of the administrator, database "postgres" (or the one of the given URL). */
  readonly url: string;
  /** Folder of data and log. Undefined for an existing server. */
  readonly stateDir: string | undefined;
  /** Creates an empty database. Returns its URL. */
  createDatabase(name: string): Promise<string>;
  /** Disconnects all clients of a database, and drops it. */
  dropDatabase(name: string): Promise<void>;
  /** Stops the server. Data and port stay. */
  stopServer(mode: StopMode): Promise<void>;
  /** Starts the server again, and waits until it accepts connections. */
  startServer(): Promise<void>;
  /** Stops the server, and removes its data. An existing server is not changed. */
  stop(): Promise<void>;
}

const SERVER = 'postgres';
const START_TIMEOUT_MS = 60_000;
/** On a busy machine, this process can stand still for several seconds, for example while it loads modules. */
const CONNECT_TIMEOUT_MS = 30_000;
const SIGNALS: Record<StopMode, NodeJS.Signals> = { smart: 'SIGTERM', fast: 'SIGINT', immediate: 'SIGQUIT' };

/** Returns a PostgreSQL that accepts connections. A server that is started here stops when this process ends. */
export async function startPostgres(options: PostgresOptions = {}): Promise<LocalPostgres> {
  if (options.databaseUrl) return existingServer(options.databaseUrl);
  const log = options.log ?? ((line: string) => console.error(line));
  const runAs = unprivilegedUser();
  for (let attempt = 1; ; attempt++) {
    const stateDir = mkdtempSync(join(realpathSync(tmpdir()), 'berth-postgres-'));
    const watchdog = startWatchdog(stateDir, { removeState: true });
    try {
      return await ownServer(stateDir, runAs, { ...options, log }, watchdog);
    } catch (error) {
      await stopProcess(stateDir, SERVER, { signal: SIGNALS.immediate });
      watchdog.release();
      rmSync(stateDir, { recursive: true, force: true });
      if (!(error instanceof ProcessDiedError && isPortTaken(error.log) && attempt < 4)) throw error;
      log('PostgreSQL lost its port to another program; trying another …');
    }
  }
}

async function existingServer(url: string): Promise<LocalPostgres> {
  await withClient(url, async () => {}).catch((cause: Error) => {
    throw new Error(
      `failed to connect to the PostgreSQL at DATABASE_URL (${withoutPassword(url)}): ${describe(cause)}. Start it, or unset DATABASE_URL to start a separate PostgreSQL.`,
      { cause },
    );
  });
  const notOurs = () =>
    Promise.reject(new Error('failed to control PostgreSQL: the server was not started here'));
  return {
    url,
    stateDir: undefined,
    createDatabase: (name) => createDatabase(url, name),
    dropDatabase: (name) => dropDatabase(url, name),
    stopServer: notOurs,
    startServer: notOurs,
    stop: async () => {},
  };
}

async function ownServer(
  stateDir: string,
  runAs: RunAs | undefined,
  options: PostgresOptions & { log: (line: string) => void },
  watchdog: Watchdog,
): Promise<LocalPostgres> {
  chownTo(runAs, stateDir);
  const binaries = await postgresBinaries(stateDir, runAs, options.log);
  const password = randomBytes(16).toString('hex');
  await initialise(binaries, stateDir, runAs, password);
  const [port] = await freePorts(1);
  const url = `postgres://postgres:${password}@127.0.0.1:${port}/postgres`;
  const settings = {
    listen_addresses: '127.0.0.1',
    port: String(port),
    unix_socket_directories: join(stateDir, 'socket'),
    fsync: options.fsync === false ? 'off' : 'on',
    max_connections: '300',
    timezone: 'UTC',
    log_timezone: 'UTC',
    ...options.settings,
  };
  const startServer = async () => {
    if (runningPid(stateDir, SERVER) === undefined)
      await runServer(binaries.postgres, stateDir, runAs, settings);
    await waitFor('PostgreSQL to take connections', () => withClient(url, async () => true), {
      timeoutMs: START_TIMEOUT_MS,
      giveUpIf: () => assertRunning(stateDir, [SERVER]),
    });
  };
  await startServer();
  return {
    url,
    stateDir,
    createDatabase: (name) => createDatabase(url, name),
    dropDatabase: (name) => dropDatabase(url, name),
    stopServer: (mode) =>
      stopProcess(stateDir, SERVER, { signal: SIGNALS[mode], timeoutMs: START_TIMEOUT_MS }),
    startServer,
    stop: async () => {
      await stopProcess(stateDir, SERVER, { signal: SIGNALS.fast });
      watchdog.release();
      rmSync(stateDir, { recursive: true, force: true });
    },
  };
}

async function initialise(
  binaries: PostgresBinaries,
  stateDir: string,
  runAs: RunAs | undefined,
  password: string,
): Promise<void> {
  const passwordFile = join(stateDir, 'password');
  writeFileSync(passwordFile, `${password}\n`, { mode: 0o600 });
  mkdirSync(join(stateDir, 'socket'), { mode: 0o700 });
  for (const path of ['password', 'socket']) chownTo(runAs, join(stateDir, path));
  const args = [
    `--pgdata=${join(stateDir, 'data')}`,
    '--username=postgres',
    `--pwfile=${passwordFile}`,
    '--auth=scram-sha-256',
    '--encoding=UTF8',
    // The same sort order on every machine, regardless of its locales.
    '--locale=C',
    ...(binaries.major >= 17 ? ['--locale-provider=builtin', '--builtin-locale=C.UTF-8'] : []),
    '--no-sync',
    '--no-instructions',
  ];
  try {
    await promisify(execFile)(binaries.initdb, args, { ...runAs, cwd: stateDir, env: plainEnvironment() });
  } catch (cause) {
    const { stderr, message } = cause as Error & { stderr?: string };
    throw new Error(
      `failed to create a PostgreSQL data folder: ${stderr?.trim() || message}. Set DATABASE_URL to use another PostgreSQL.`,
      { cause },
    );
  } finally {
    rmSync(passwordFile, { force: true });
  }
}

async function runServer(
  command: string,
  stateDir: string,
  runAs: RunAs | undefined,
  settings: Record<string, string>,
): Promise<void> {
  await startProcess(stateDir, {
    name: SERVER,
    command,
    args: [
      `-D${join(stateDir, 'data')}`,
      ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
    ],
    env: plainEnvironment(),
    // SIGKILL would leave shared memory behind.
    watchdogSignal: SIGNALS.immediate,
    ...runAs,
  });
}

/** English messages, because this code parses them, and no PG* variables, which would change the server. */
function plainEnvironment(): Record<string, string> {
  return { PATH: process.env['PATH'] ?? '', LC_ALL: 'C' };
}

async function createDatabase(adminUrl: string, name: string): Promise<string> {
  await withClient(adminUrl, (client) => client.query(`CREATE DATABASE ${client.escapeIdentifier(name)}`));
  const url = new URL(adminUrl);
  url.pathname = `/${encodeURI(name)}`;
  return url.toString();
}

async function dropDatabase(adminUrl: string, name: string): Promise<void> {
  await withClient(adminUrl, (client) =>
    client.query(`DROP DATABASE IF EXISTS ${client.escapeIdentifier(name)} WITH (FORCE)`),
  );
}

/** Connects to a URL while `use` runs. */
export async function withClient<T>(url: string, use: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: CONNECT_TIMEOUT_MS });
  // A lost connection also rejects queries in progress. An error event without a handler would end this process.
  client.on('error', () => {});
  await client.connect();
  try {
    return await use(client);
  } finally {
    await client.end();
  }
}

function withoutPassword(url: string): string {
  try {
    const parsed = new URL(url);
    parsed.password = parsed.password === '' ? '' : '***';
    return parsed.toString();
  } catch {
    return 'not a valid URL';
  }
}

/** A refused connection is an AggregateError with an empty message. */
function describe(error: Error): string {
  return error.message || (error as NodeJS.ErrnoException).code || error.name;
}
