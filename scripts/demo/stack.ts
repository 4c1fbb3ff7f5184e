import { randomBytes } from 'node:crypto';
import { cpSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { tenantNamespace } from '../../src/contract/resource/names.ts';
import { SCOPES } from '../../src/hub/store/tenancy/api-keys.ts';
import { startCluster } from '../../test/cluster/cluster.ts';
import { missingImageTools } from '../../test/cluster/images/tools.ts';
import { type KubectlAccess, kubectl } from '../../test/cluster/kubectl.ts';
import { ordinaryDatabase } from '../../test/cluster/ordinary-database.ts';
import { freePorts } from '../../test/cluster/ports.ts';
import { startPostgres } from '../../test/cluster/postgres.ts';
import { runBerth, startBerth } from '../../test/installation/berth-process.ts';
import {
  applyObjects,
  installedObjects,
  type ManifestObject,
  roleKubeconfigs,
} from '../../test/installation/install.ts';
import { buildConsole } from '../console/build.ts';
import { type DemoBuilds, openBuilds } from './builds.ts';
import { isGivenCluster } from './choose-cluster.ts';
import { assertFree, DEMO_MANAGER, openGivenCluster } from './given-cluster.ts';
import type { DemoOptions } from './options.ts';
import { openRealNode, REAL_NODE_SETTINGS } from './real-node.ts';

/** The running demo. */
export interface DemoStack {
  url: string;
  apiKey: string;
  tenantId: string;
  databaseUrl: string;
  kubeconfigPath: string;
  kubectlPath: string;
  /** Namespace of the samples; null in cloud mode, where each tenant has its own. */
  namespace: string | null;
  logPath: string;
  /** null if the demo builds no images. */
  builds: DemoBuilds | null;
  /** Whether a demo with --builds may build images, in contrast to this one. */
  offersBuilds: boolean;
}

/** Namespace of the demo's deployments in self_hosted mode. */
const NAMESPACE = 'berth-demo';
const namespaceObject = (name: string, labels = {}) => ({
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: { name, labels },
});
const SAMPLES_NAMESPACE = namespaceObject(NAMESPACE, { 'pod-security.kubernetes.io/enforce': 'baseline' });
const prerequisites = fileURLToPath(new URL('../../test/samples/prerequisites.yaml', import.meta.url));

/** Functions that stop the started parts, in the order of the starts. */
export type Releasers = (() => Promise<void> | void)[];

const started = Date.now();
const print = (line: string) =>
  console.log(`${((Date.now() - started) / 1000).toFixed(1).padStart(6)}s  ${line}`);

async function step<T>(what: string, work: () => Promise<T>): Promise<T> {
  print(`${what} …`);
  return await work();
}

/**
 * The port of the API, which its public URL must name. 0 selects a free one.
 * @throws Error with the next step if the port is in use
 */
async function apiPort(port: number): Promise<number> {
  if (port !== 0) {
    await assertPortFree(port);
    return port;
  }
  const [free = 0] = await freePorts(1);
  return free;
}

async function assertPortFree(port: number): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    const probe = createServer();
    probe.once('error', (error: NodeJS.ErrnoException) =>
      reject(
        new Error(
          `failed to take port ${port} for the API: ${error.code}. Choose another: npm run demo -- --port 0`,
        ),
      ),
    );
    probe.listen(port, '127.0.0.1', () => probe.close(() => resolve()));
  });
}

/** Starts a local cluster. */
async function startLocalCluster({ realNode }: DemoOptions, releasers: Releasers): Promise<KubectlAccess> {
  if (realNode) {
    const node = await step('starting Kubernetes with a real node (kubelet, containerd, runc)', () =>
      openRealNode(print),
    );
    releasers.push(() => node.stop());
    return node;
  }
  const cluster = await step(
    'starting Kubernetes (etcd, API server, controller manager, scheduler, kwok)',
    () => startCluster({ log: print, usePath: true }),
  );
  releasers.push(() => cluster.stop());
  return cluster;
}

async function openDatabase(releasers: Releasers): Promise<string> {
  const given = process.env['DATABASE_URL'];
  const what = given ? 'using the PostgreSQL of DATABASE_URL' : 'starting PostgreSQL';
  const postgres = await step(what, () => startPostgres(given ? { databaseUrl: given } : {}));
  releasers.push(() => postgres.stop());
  // The database belongs to this run only, so the demo changes nothing else on a given server and leaves nothing there. Its
  // owner is not a superuser, because row-level security does not apply to superusers.
  const name = `berth_demo_${randomBytes(4).toString('hex')}`;
  const database = await step(`creating the database ${name}`, () => ordinaryDatabase(postgres, name));
  if (given) releasers.push(() => database.drop());
  return database.url;
}

/** The objects of the demo in the cluster, except for the deployments. */
function demoObjects({ hosting }: DemoOptions): ManifestObject[] {
  const objects = installedObjects();
  return hosting === 'cloud' ? objects : [...objects, SAMPLES_NAMESPACE];
}

/** Installs the custom resource, the rights, and in self_hosted mode the namespace of the samples. */
async function install(access: KubectlAccess, options: DemoOptions): Promise<void> {
  await applyObjects(access, demoObjects(options), DEMO_MANAGER);
  if (options.hosting === 'self_hosted')
    await kubectl(access, ['apply', '-n', NAMESPACE, '-f', prerequisites]);
}

/** Whether --builds would change something. */
const mayUseBuilds = (options: DemoOptions): boolean =>
  options.hosting === 'self_hosted' && !options.builds && !options.realNode && !isGivenCluster(options);

/**
 * Why the demo builds no images. null: it does. The steps of builds are processes of this machine, so they need a local
 * cluster with simulated nodes.
 */
async function reasonAgainstBuilds(options: DemoOptions): Promise<string | null> {
  if (isGivenCluster(options))
    return 'they would run on this machine, not in the cluster that you have named';
  if (options.realNode) return 'the real node has another registry';
  if (!mayUseBuilds(options)) return null;
  const missing = await missingImageTools();
  return missing.length === 0 ? null : `${missing.join(', ')} would have to be built first; use --builds`;
}

/** Starts the parts for builds. null: the demo builds no images */
async function startBuilds(
  options: DemoOptions,
  stateDir: string,
  releasers: Releasers,
): Promise<DemoBuilds | null> {
  const reason = await reasonAgainstBuilds(options);
  if (reason !== null) {
    print(`no builds: ${reason}`);
    return null;
  }
  const builds = await step('starting what builds need (git host, registry, BuildKit)', () =>
    openBuilds(stateDir, options.port, print),
  );
  if (builds !== null) releasers.push(() => builds.stop());
  return builds;
}

/** Opens the cluster that the user has named, if the demo may use it. null: the user has named none */
async function givenCluster(options: DemoOptions, stateDir: string): Promise<KubectlAccess | null> {
  if (!isGivenCluster(options)) return null;
  const access = await openGivenCluster(options, stateDir, print);
  await assertFree(access, options, demoObjects(options));
  return access;
}

/**
 * Starts all parts in order. Adds a function that stops each part to `releasers`.
 * @param leftovers gets the objects that stay in a given cluster, before they are created
 */
export async function startStack(
  options: DemoOptions,
  stateDir: string,
  releasers: Releasers,
  leftovers: ManifestObject[],
): Promise<DemoStack> {
  const port = await apiPort(options.port);
  const given = await givenCluster(options, stateDir);
  const databaseUrl = await openDatabase(releasers);
  const access = given ?? (await startLocalCluster(options, releasers));
  const namespace = options.hosting === 'self_hosted' ? NAMESPACE : null;
  if (given !== null) leftovers.push(...demoObjects(options));
  const kubeconfigs = await step(
    'installing the custom resource and the permissions of listener and operator',
    async () => {
      await install(access, options);
      return await roleKubeconfigs(access, stateDir);
    },
  );
  const builds = await startBuilds(options, stateDir, releasers);
  const settings: Record<string, string> = {
    DATABASE_URL: databaseUrl,
    BERTH_HOST: '127.0.0.1',
    BERTH_PORT: String(port),
    // Browsers sign in only under this URL.
    BERTH_PUBLIC_URL: `http://localhost:${port}`,
    BERTH_METRICS_PORT: '0',
    BERTH_HOSTING: options.hosting,
    BERTH_ENCRYPTION_KEYS: `demo:${randomBytes(32).toString('base64')}`,
    BERTH_LISTENER_KUBECONFIG: kubeconfigs.listener,
    BERTH_OPERATOR_KUBECONFIG: kubeconfigs.operator,
    // The default delay detects programs that crash after their start. Simulated programs do not crash.
    ...(options.realNode ? REAL_NODE_SETTINGS : { BERTH_MIN_READY_SECONDS: '2' }),
    // Simulated nodes do not pull images, and the registries of the samples may be unreachable.
    BERTH_RESOLVE_IMAGES: 'false',
    ...(namespace === null ? {} : { BERTH_NAMESPACES: namespace }),
    ...builds?.settings,
  };
  await step('migrating the database', () => runBerth(stateDir, ['migrate'], settings));
  const key = JSON.parse(
    await runBerth(
      stateDir,
      ['keys', 'create', '--tenant', 'demo', '--name', 'demo', '--scopes', SCOPES.join(','), '-o', 'json'],
      settings,
    ),
  ) as { api_key: string; tenant_id: string };
  if (given !== null && namespace === null) leftovers.push(namespaceObject(tenantNamespace(key.tenant_id)));
  await step('building the web console', buildConsole);
  const berth = await step('starting Berth (API, listener, operator)', () =>
    startBerth({ stateDir, role: 'all', settings }),
  );
  releasers.push(() => berth.stop());
  if (builds !== null) {
    const node = await step(
      'starting a simulated node for builds (its steps run as processes of this machine)',
      () => builds.startNode(access),
    );
    releasers.push(() => node.stop());
  }
  const kubeconfigPath = join(stateDir, 'admin.kubeconfig');
  cpSync(access.kubeconfigPath, kubeconfigPath);
  print(`Berth is available at ${berth.url}`);
  return {
    url: berth.url,
    apiKey: key.api_key,
    tenantId: key.tenant_id,
    databaseUrl,
    kubeconfigPath,
    kubectlPath: access.kubectlPath,
    namespace,
    logPath: berth.logPath,
    builds,
    offersBuilds: builds === null && mayUseBuilds(options),
  };
}
