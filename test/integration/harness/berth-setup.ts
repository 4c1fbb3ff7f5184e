/** What a whole Berth needs before its processes start, and how its API is called; for tests and for fault plans. */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { TENANT_SCOPES } from '../../../src/domain/core/scopes.ts';
import { openDatabase } from '../../../src/hub/store/core/database.ts';
import { migrate } from '../../../src/hub/store/core/migrate.ts';
import { createApiKey } from '../../../src/hub/store/tenancy/api-keys.ts';
import { ensureTenant } from '../../../src/hub/store/tenancy/tenants.ts';
import type { KubectlAccess } from '../../cluster/kubectl.ts';
import { type OrdinaryDatabase, ordinaryDatabase } from '../../cluster/ordinary-database.ts';
import type { LocalPostgres } from '../../cluster/postgres.ts';
import { startWatchdog } from '../../cluster/processes.ts';
import { waitFor } from '../../cluster/wait.ts';
import { createTenantKey, runBerth } from '../../installation/berth-process.ts';
import { installBerth, installedObjects, roleKubeconfigs } from '../../installation/install.ts';
import { installedKubeconfigs } from './installed-berth.ts';
import { migratedDatabase, silent } from './migrated-database.ts';
import { applyNamespaces, removeNamespace, uniqueName } from './namespaces.ts';

/** The fields of a deployment in responses that tests use. */
export interface DeploymentAnswer {
  id: string;
  name: string;
  status: string;
  generation: number;
  observed_generation: number;
  remote_reconciled: boolean;
  latest_revision_id: string | null;
  active_revision_id: string | null;
  source_config: Readonly<Record<string, unknown>>;
  conditions: { type: string; status: string; reason: string; message: string }[];
}

export interface Answer<T> {
  status: number;
  body: T;
}

export function isReady(deployment: DeploymentAnswer): boolean {
  return (
    deployment.status === 'READY' &&
    deployment.remote_reconciled &&
    deployment.latest_revision_id !== null &&
    deployment.active_revision_id === deployment.latest_revision_id
  );
}

const LEASE_ROLES = ['berth-operator-lease', 'berth-listener-lease'];

/** The rights to the leader election's lease are given in Berth's own namespace: here, the test's. */
function leaseRights(namespace: string): object[] {
  return installedObjects()
    .filter(({ metadata }) => LEASE_ROLES.includes(metadata.name))
    .map((object) => ({ ...object, metadata: { ...object.metadata, namespace } }));
}

/** Settings and places of a Berth that is yet to be started. */
export interface PreparedBerth {
  readonly tenantId: string;
  readonly apiKey: string;
  readonly database: OrdinaryDatabase;
  /** Namespace of the workloads (self_hosted). */
  readonly namespace: string;
  /** Berth's own namespace. */
  readonly own: string;
  readonly settings: Record<string, string>;
  readonly stateDir: string;
  /** Removes database, namespaces and state; its processes have ended before. */
  remove(): Promise<void>;
}

export interface PrepareOptions {
  /** Where it is to work. */
  access: KubectlAccess;
  /** The PostgreSQL of the run. */
  postgres: LocalPostgres;
  /** Makes and drops the database; default: `postgres`. */
  server?: Pick<LocalPostgres, 'createDatabase' | 'dropDatabase'> | undefined;
  /** A database to copy, from `createTemplate`. Default: the migrations run. */
  template?: string | undefined;
  hosting?: 'cloud' | 'self_hosted' | undefined;
  /** Namespaces beside the one of its own that deployments may go to. */
  moreNamespaces?: readonly string[] | undefined;
  /** More settings. */
  settings?: Record<string, string> | undefined;
  /** Folder of another version of Berth, whose are custom resource, rights and schema, and which makes the key; default: this one. */
  checkout?: string | undefined;
}

/** With a role of its own that owns it, unless the given server makes it as it likes. */
async function makeDatabase(name: string, options: PrepareOptions): Promise<OrdinaryDatabase> {
  const { server, postgres, checkout, template = '' } = options;
  if (server === undefined) {
    return checkout === undefined
      ? migratedDatabase(postgres, { name, template })
      : ordinaryDatabase(postgres, name);
  }
  const url = await server.createDatabase(name);
  if (checkout === undefined) await migrate(url, silent);
  return { url, adminUrl: url, drop: () => server.dropDatabase(name) };
}

/** What the command `keys create` does, without another process of Berth. */
async function createKey(url: string): Promise<{ apiKey: string; tenantId: string }> {
  const database = openDatabase({ url, poolSize: 1, logger: silent });
  try {
    return await database.platform.transaction(async (transaction) => {
      const { id: tenantId } = await ensureTenant(transaction, 'test');
      const actor = { kind: 'system', name: 'berth keys create' } as const;
      const made = { tenantId, name: 'test', scopes: [...TENANT_SCOPES], actor };
      return { tenantId, apiKey: (await createApiKey(transaction, made)).key };
    });
  } finally {
    await database.close();
  }
}

async function kubeconfigsOf(access: KubectlAccess, folder: string, checkout: string | undefined) {
  if (checkout === undefined) return installedKubeconfigs(access, folder);
  await installBerth(access, checkout);
  return roleKubeconfigs(access, folder);
}

/** A tenant with its key. The program of another version also migrates its database. */
async function tenantKey(
  stateDir: string,
  settings: Readonly<Record<string, string>>,
  { url, checkout }: { url: string; checkout: string | undefined },
) {
  if (checkout === undefined) return createKey(url);
  await runBerth(stateDir, ['migrate'], settings, checkout);
  return createTenantKey(stateDir, 'test', settings, checkout);
}

/** Makes database, namespaces, rights and a tenant with its key. */
export async function prepareBerth(prefix: string, options: PrepareOptions): Promise<PreparedBerth> {
  const { access } = options;
  const stateDir = mkdtempSync(join(realpathSync(tmpdir()), `berth-test-${prefix}-`));
  const watchdog = startWatchdog(stateDir, { removeState: true });
  const [own, namespace] = [uniqueName(`${prefix}-berth`), uniqueName(prefix)];
  const [database, kubeconfigs] = await Promise.all([
    makeDatabase(uniqueName(prefix), options),
    kubeconfigsOf(access, stateDir, options.checkout),
  ]);
  await applyNamespaces(access, [own, namespace], leaseRights(own));
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
    // Nothing is pulled on simulated nodes, from registries that are not there; image-digests.test.ts asks some.
    BERTH_RESOLVE_IMAGES: 'false',
    ...(hosting === 'self_hosted'
      ? { BERTH_NAMESPACES: [namespace, ...(options.moreNamespaces ?? [])].join(',') }
      : {}),
    ...options.settings,
  };
  const key = await tenantKey(stateDir, settings, { url: database.url, checkout: options.checkout });
  // Operators of several files run side by side in one cluster; none takes up what is another's.
  if (hosting === 'cloud') settings['BERTH_NAMESPACES'] ??= `berth-${key.tenantId}`;
  return {
    tenantId: key.tenantId,
    apiKey: key.apiKey,
    database,
    namespace,
    own,
    settings,
    stateDir,
    remove: async () => {
      await removeNamespace(access, own, namespace);
      await database.drop();
      watchdog.release();
      rmSync(stateDir, { recursive: true, force: true });
    },
  };
}

/** The API, called as the tenant. */
export interface BerthClient {
  /** Calls the API; answers of any status are returned, not thrown. @param headers such as Idempotency-Key */
  call<T = DeploymentAnswer>(
    method: string,
    path: string,
    body?: unknown,
    headers?: Readonly<Record<string, string>>,
  ): Promise<Answer<T>>;
  /** Creates a deployment and returns it. @throws unless 201 */
  create(body: object): Promise<DeploymentAnswer>;
  /** Waits until the deployment satisfies `check`. @param timeoutMs default 60,000 */
  until(
    id: string,
    what: string,
    check: (deployment: DeploymentAnswer) => boolean,
    timeoutMs?: number,
  ): Promise<DeploymentAnswer>;
  /** Waits until it is READY with its latest revision active and its generation observed. */
  ready(id: string): Promise<DeploymentAnswer>;
}

/** @param url of the API as it is now */
export function berthClient(apiKey: string, url: () => string): BerthClient {
  const call: BerthClient['call'] = async (method, path, body, headers = {}) => {
    const response = await fetch(new URL(path, url()), {
      method,
      headers: {
        'x-api-key': apiKey,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      body: body === undefined ? undefined : JSON.stringify(body),
      signal: AbortSignal.timeout(30_000),
    });
    const text = await response.text();
    return { status: response.status, body: text === '' ? null : JSON.parse(text) };
  };
  const until: BerthClient['until'] = async (id, what, check, timeoutMs = 60_000) => {
    let last: Answer<DeploymentAnswer> | undefined;
    try {
      return await waitFor(
        `${id}: ${what}`,
        async () => {
          last = await call('GET', `/v2/deployments/${id}`);
          return last.status === 200 && check(last.body) ? last.body : undefined;
        },
        { timeoutMs, intervalMs: 100 },
      );
    } catch (error) {
      throw new Error(`${String(error)}; last answer: ${JSON.stringify(last?.body)}`, { cause: error });
    }
  };
  return {
    call,
    create: async (body) => {
      const answer = await call('POST', '/v2/deployments', body);
      if (answer.status !== 201)
        throw new Error(`failed to create: ${answer.status} ${JSON.stringify(answer.body)}`);
      return answer.body;
    },
    until,
    ready: (id) => until(id, 'READY with its latest revision active', isReady),
  };
}
