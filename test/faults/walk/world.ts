/** The world of a walk: an API to call, and administrator access to the cluster. */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { createKubeClient, type KubeClient } from '../../../src/cluster/kube/client/client.ts';
import { FEW_COLLECTIONS, startCluster } from '../../cluster/cluster.ts';
import { type KubectlAccess, kubectl } from '../../cluster/kubectl.ts';
import { ordinaryDatabase } from '../../cluster/ordinary-database.ts';
import { startPostgres } from '../../cluster/postgres.ts';
import { startWatchdog } from '../../cluster/processes.ts';
import { runBerth, startBerth } from '../../installation/berth-process.ts';
import { installBerth, roleKubeconfigs } from '../../installation/install.ts';
import { WALK_POLICY } from './pod-setting-moves.ts';

/** A response of the API. */
export interface ApiAnswer<T> {
  readonly status: number;
  readonly body: T;
}

/** The part of a fault world that a walk needs. */
export interface WalkWorld {
  /** Namespace of the workloads. */
  readonly namespace: string;
  readonly admin: KubeClient;
  /** Calls the API. Returns responses of any status. */
  call<T>(method: string, path: string, body?: unknown): Promise<ApiAnswer<T>>;
}

/** A world that belongs to one walk. */
export interface OwnWorld extends WalkWorld {
  /** Path of the log of Berth. */
  readonly logPath: string;
  /** Path of the audit log of the API server. */
  readonly auditLogPath: string;
  /** Number of written rows by table since the creation of the database. Updated up to 10 s after a write. */
  tableWrites(): Promise<ReadonlyMap<string, number>>;
  stop(): Promise<void>;
}

const WRITES = `
SELECT relname AS table, (n_tup_ins + n_tup_upd + n_tup_del)::float8 AS writes FROM pg_stat_user_tables`;

const NAMESPACE = 'berth-walk';
const CALL_MS = 30_000;

/**
 * Settings of Berth in a walk: pods are ready after a second, image digests are not resolved, routes are created, and no DNS
 * server answers, so that the state of additional hosts is always the same.
 */
export const WALK_SETTINGS = {
  BERTH_MIN_READY_SECONDS: '1',
  BERTH_RESOLVE_IMAGES: 'false',
  BERTH_ROUTING: 'ingress',
  BERTH_DNS_SERVERS: '127.0.0.1:9',
  BERTH_RATE_LIMIT: 'off',
  BERTH_NETWORK_ISOLATION: 'true',
} as const;

type Release = () => Promise<void> | void;

async function releaseAll(releasers: Release[]): Promise<void> {
  for (const release of releasers.reverse()) {
    await Promise.resolve(release()).catch((error) => console.error(String(error)));
  }
}

async function makeNamespace(access: KubectlAccess): Promise<void> {
  await kubectl(access, ['create', 'namespace', NAMESPACE]);
  const wait = [
    'wait',
    '--for=create',
    'serviceaccount/default',
    `--namespace=${NAMESPACE}`,
    '--timeout=30s',
  ];
  await kubectl(access, wait);
}

async function build(log: (line: string) => void, releasers: Release[]): Promise<Omit<OwnWorld, 'stop'>> {
  const stateDir = mkdtempSync(join(realpathSync(tmpdir()), 'berth-walk-'));
  const watchdog = startWatchdog(stateDir, { removeState: true });
  releasers.push(
    () => rmSync(stateDir, { recursive: true, force: true }),
    () => watchdog.release(),
  );
  const postgres = await startPostgres({ databaseUrl: process.env['DATABASE_URL'], log });
  releasers.push(() => postgres.stop());
  const cluster = await startCluster({ ...FEW_COLLECTIONS, log, audit: true });
  releasers.push(() => cluster.stop());
  const database = await ordinaryDatabase(postgres, `berth_walk_${randomBytes(4).toString('hex')}`);
  releasers.push(() => database.drop());
  await installBerth(cluster);
  await makeNamespace(cluster);
  const kubeconfigs = await roleKubeconfigs(cluster, stateDir);
  const policy = join(stateDir, 'policy.yaml');
  writeFileSync(policy, WALK_POLICY);
  const settings: Record<string, string> = {
    DATABASE_URL: database.url,
    BERTH_POLICY: policy,
    BERTH_HOST: '127.0.0.1',
    BERTH_PORT: '0',
    BERTH_METRICS_PORT: '0',
    BERTH_HOSTING: 'self_hosted',
    BERTH_NAMESPACES: NAMESPACE,
    BERTH_ENCRYPTION_KEYS: `walk:${randomBytes(32).toString('base64')}`,
    BERTH_LISTENER_KUBECONFIG: kubeconfigs.listener,
    BERTH_OPERATOR_KUBECONFIG: kubeconfigs.operator,
    ...WALK_SETTINGS,
  };
  await runBerth(stateDir, ['migrate'], settings);
  const made = await runBerth(
    stateDir,
    ['keys', 'create', '--tenant', 'walk', '--name', 'walk', '-o', 'json'],
    settings,
  );
  const { api_key: key } = JSON.parse(made) as { api_key: string };
  const berth = await startBerth({ stateDir, role: 'all', settings });
  releasers.push(() => berth.stop());
  const { kubeconfigPath } = cluster;
  const admin = await createKubeClient({
    kubeconfigPath,
    userAgent: 'berth-walk',
    requestTimeoutMs: CALL_MS,
  });
  releasers.push(() => admin.close());
  const call: WalkWorld['call'] = async (method, path, body) => {
    const response = await fetch(new URL(path, berth.url), {
      method,
      headers: { 'x-api-key': key, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
      body: body === undefined ? undefined : JSON.stringify(body),
      signal: AbortSignal.timeout(CALL_MS),
    });
    const text = await response.text();
    return { status: response.status, body: text === '' ? null : JSON.parse(text) };
  };
  const pool = new pg.Pool({ connectionString: database.adminUrl, max: 1 });
  pool.on('error', () => undefined);
  releasers.push(() => pool.end());
  return {
    namespace: NAMESPACE,
    admin,
    call,
    logPath: berth.logPath,
    auditLogPath: cluster.auditLogPath,
    tableWrites: async () => {
      const { rows } = await pool.query<{ table: string; writes: number }>(WRITES);
      return new Map(rows.map(({ table, writes }) => [table, writes]));
    },
  };
}

/** Starts PostgreSQL, a cluster and a complete Berth for one walk. */
export async function startWorld(log: (line: string) => void): Promise<OwnWorld> {
  const releasers: Release[] = [];
  try {
    const world = await build(log, releasers);
    return { ...world, stop: () => releaseAll(releasers) };
  } catch (error) {
    await releaseAll(releasers);
    throw error;
  }
}
