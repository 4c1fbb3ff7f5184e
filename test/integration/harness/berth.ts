/** A whole Berth for a test file: its own database, namespaces and processes, in the cluster of the run. */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type OrdinaryDatabase, ordinaryDatabase } from '../../cluster/ordinary-database.ts';
import type { LocalPostgres } from '../../cluster/postgres.ts';
import { startWatchdog } from '../../cluster/processes.ts';
import { waitFor } from '../../cluster/wait.ts';
import { type BerthProcess, runBerth, startBerth } from '../../installation/berth-process.ts';
import { installBerth, roleKubeconfigs } from '../../installation/install.ts';
import {
  createNamespace,
  deleteNamespace,
  environment,
  kubectlAsAdmin,
  postgres,
  uniqueName,
} from './environment.ts';

const root = fileURLToPath(new URL('../../..', import.meta.url));

/** The fields of a Deployment answer that these tests look at. */
export interface DeploymentAnswer {
  id: string;
  name: string;
  status: string;
  generation: number;
  observed_generation: number;
  remote_reconciled: boolean;
  latest_revision_id: string | null;
  active_revision_id: string | null;
  conditions: { type: string; status: string; reason: string; message: string }[];
}

export interface Answer<T> {
  status: number;
  body: T;
}

export interface WholeBerth {
  readonly tenantId: string;
  readonly apiKey: string;
  /** Of whoever made the database, who may look past row-level security; Berth itself has an ordinary role. */
  readonly databaseUrl: string;
  /** Namespace of the workloads (self_hosted); in cloud mode each tenant has its own. */
  readonly namespace: string;
  /** Settings of the processes, for starting more of them. */
  readonly settings: Readonly<Record<string, string>>;
  readonly stateDir: string;
  /** The process that answers the API; replaced by `restart`. */
  process(): BerthProcess;
  /** Starts a role in a process of its own. */
  startRole(
    role: 'api' | 'listener' | 'operator' | 'all',
    name: string,
    more?: Record<string, string>,
  ): Promise<BerthProcess>;
  /** Starts it again after it was ended. */
  restart(): Promise<void>;
  /** Calls the API; answers of any status are returned, not thrown. */
  call<T = DeploymentAnswer>(method: string, path: string, body?: unknown): Promise<Answer<T>>;
  /** Creates a deployment and returns it. @throws unless 201 */
  create(body: object): Promise<DeploymentAnswer>;
  /** Waits until the deployment satisfies `check`. */
  until(
    id: string,
    what: string,
    check: (deployment: DeploymentAnswer) => boolean,
  ): Promise<DeploymentAnswer>;
  /** Waits until it is READY with its latest revision active and its generation observed. */
  ready(id: string): Promise<DeploymentAnswer>;
  /** kubectl as administrator in `namespace`, answer parsed from JSON. */
  get<T = KubeList>(...args: string[]): Promise<T>;
  stop(): Promise<void>;
}

/** Objects as kubectl prints them. */
export interface KubeItem {
  kind: string;
  metadata: {
    name: string;
    namespace: string;
    uid: string;
    resourceVersion: string;
    generation?: number;
    labels?: Record<string, string>;
    annotations?: Record<string, string>;
    ownerReferences?: { kind: string; name: string; uid: string; controller?: boolean }[];
    deletionTimestamp?: string;
  };
  spec: Record<string, unknown>;
  status?: Record<string, unknown>;
}
export interface KubeList {
  items: KubeItem[];
}

/** A small deployment that comes up on simulated nodes. */
export function smallDeployment(
  name: string,
  more: { source_config?: object; image?: string; secrets?: object[] } = {},
) {
  return {
    name,
    source: 'external_image',
    source_config: more.source_config ?? {},
    source_revision_config: { image_uri: more.image ?? 'registry.example/shop/web:1.0.0' },
    secrets: more.secrets ?? [],
  };
}

export function isReady(deployment: DeploymentAnswer): boolean {
  return (
    deployment.status === 'READY' &&
    deployment.remote_reconciled &&
    deployment.latest_revision_id !== null &&
    deployment.active_revision_id === deployment.latest_revision_id
  );
}

/** The right to hold the leader election's lease is given in Berth's own namespace: here, the test's. */
async function allowLeases(namespace: string): Promise<void> {
  const manifest = readFileSync(join(root, 'manifests/10-rbac.yaml'), 'utf8')
    .split(/^---$/m)
    .filter((document) => /^kind: (Role|RoleBinding)$/m.test(document))
    .map((document) => document.replace('namespace: berth-system', `namespace: ${namespace}`));
  await kubectlAsAdmin(['apply', '-f', '-'], manifest.join('---\n'));
}

interface BerthOptions {
  /** Makes and drops the database; default: the PostgreSQL of the run. */
  server?: Pick<LocalPostgres, 'createDatabase' | 'dropDatabase'>;
  hosting?: 'cloud' | 'self_hosted';
  /** Namespaces beside the one of its own that deployments may go to. */
  moreNamespaces?: readonly string[];
  /** More settings. */
  settings?: Record<string, string>;
  /** What to start: one process of all roles (default), the API alone, or nothing yet. */
  start?: 'all' | 'api' | 'none';
}

/** With a role of its own that owns it, unless the given server makes it as it likes. */
async function makeDatabase(name: string, server: BerthOptions['server']): Promise<OrdinaryDatabase> {
  if (server === undefined) return ordinaryDatabase(await postgres(), name);
  const url = await server.createDatabase(name);
  return { url, adminUrl: url, drop: () => server.dropDatabase(name) };
}

/** Starts a whole Berth; `stop` ends its processes and removes database and namespaces. */
export async function startWholeBerth(prefix: string, options: BerthOptions = {}): Promise<WholeBerth> {
  const stateDir = mkdtempSync(join(realpathSync(tmpdir()), `berth-test-${prefix}-`));
  const watchdog = startWatchdog(stateDir, { removeState: true });
  await installBerth(environment());
  const database = await makeDatabase(uniqueName(prefix), options.server);
  const own = await createNamespace(`${prefix}-berth`);
  const namespace = await createNamespace(prefix);
  await allowLeases(own);
  const kubeconfigs = await roleKubeconfigs(environment(), stateDir);
  const hosting = options.hosting ?? 'self_hosted';
  const settings: Record<string, string> = {
    DATABASE_URL: database.url,
    BERTH_HOST: '127.0.0.1',
    BERTH_PORT: '0',
    BERTH_METRICS_PORT: '0',
    BERTH_HOSTING: hosting,
    BERTH_ENCRYPTION_KEYS: `test:${randomBytes(32).toString('base64')}`,
    BERTH_LISTENER_KUBECONFIG: kubeconfigs.listener,
    BERTH_OPERATOR_KUBECONFIG: kubeconfigs.operator,
    BERTH_LISTENER_KEY: randomBytes(32).toString('hex'),
    BERTH_NAMESPACE: own,
    // Enough to be in the objects; what it does is the matter of tests of its own.
    BERTH_MIN_READY_SECONDS: '1',
    ...(hosting === 'self_hosted'
      ? { BERTH_NAMESPACES: [namespace, ...(options.moreNamespaces ?? [])].join(',') }
      : {}),
    ...options.settings,
  };
  await runBerth(stateDir, ['migrate'], settings);
  const created = await runBerth(
    stateDir,
    ['keys', 'create', '--tenant', 'test', '--name', 'test', '--json'],
    settings,
  );
  const key = JSON.parse(created) as { api_key: string; tenant_id: string };
  const processes: BerthProcess[] = [];
  const startRole: WholeBerth['startRole'] = async (role, name, more = {}) => {
    const started = await startBerth({ stateDir, role, name, settings: { ...settings, ...more } });
    processes.push(started);
    return started;
  };
  const { start = 'all' } = options;
  let hub = start === 'none' ? undefined : await startRole(start, 'berth');
  const running = (): BerthProcess => {
    if (hub === undefined) throw new Error('failed to use Berth: it was not started');
    return hub;
  };

  const call: WholeBerth['call'] = async (method, path, body) => {
    const response = await fetch(new URL(path, running().url), {
      method,
      headers: {
        'x-api-key': key.api_key,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      body: body === undefined ? undefined : JSON.stringify(body),
      signal: AbortSignal.timeout(30_000),
    });
    const text = await response.text();
    return { status: response.status, body: text === '' ? null : JSON.parse(text) };
  };
  const until: WholeBerth['until'] = async (id, what, check) => {
    let last: Answer<DeploymentAnswer> | undefined;
    try {
      return await waitFor(
        `${id}: ${what}`,
        async () => {
          last = await call('GET', `/v2/deployments/${id}`);
          return last.status === 200 && check(last.body) ? last.body : undefined;
        },
        { timeoutMs: 60_000, intervalMs: 100 },
      );
    } catch (error) {
      throw new Error(`${String(error)}; last answer: ${JSON.stringify(last?.body)}`, { cause: error });
    }
  };
  return {
    tenantId: key.tenant_id,
    apiKey: key.api_key,
    databaseUrl: database.adminUrl,
    namespace,
    settings,
    stateDir,
    process: running,
    startRole,
    restart: async () => {
      hub = await startRole(start === 'none' ? 'all' : start, 'berth');
    },
    call,
    create: async (body) => {
      const answer = await call('POST', '/v2/deployments', body);
      if (answer.status !== 201)
        throw new Error(`failed to create: ${answer.status} ${JSON.stringify(answer.body)}`);
      return answer.body;
    },
    until,
    ready: (id) => until(id, 'READY with its latest revision active', isReady),
    get: async (...args) => JSON.parse(await kubectlAsAdmin(['get', '-n', namespace, '-o', 'json', ...args])),
    stop: async () => {
      await Promise.all(processes.map((process) => process.stop()));
      await Promise.all([deleteNamespace(own), deleteNamespace(namespace)]);
      await database.drop();
      watchdog.release();
      rmSync(stateDir, { recursive: true, force: true });
    },
  };
}
