import { randomBytes } from 'node:crypto';
import { cpSync, existsSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { SCOPES } from '../../src/hub/store/tenancy/api-keys.ts';
import { resolveKubectl } from '../../test/cluster/binaries.ts';
import { startCluster } from '../../test/cluster/cluster.ts';
import { type KubectlAccess, kubectl } from '../../test/cluster/kubectl.ts';
import { ordinaryDatabase } from '../../test/cluster/ordinary-database.ts';
import { startPostgres } from '../../test/cluster/postgres.ts';
import { runBerth, startBerth } from '../../test/installation/berth-process.ts';
import { installBerth, roleKubeconfigs } from '../../test/installation/install.ts';
import type { DemoOptions } from '../demo.ts';
import { type DemoBuilds, openBuilds } from './builds.ts';
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
  /** null: nothing is built. */
  builds: DemoBuilds | null;
}

/** Namespace that the demo's deployments go to in self_hosted mode. */
const NAMESPACE = 'berth-demo';
const prerequisites = fileURLToPath(new URL('../../test/samples/prerequisites.yaml', import.meta.url));

/** What has to be ended, in the order in which it was begun. */
export type Releasers = (() => Promise<void> | void)[];

const started = Date.now();
const say = (line: string) =>
  console.log(`${((Date.now() - started) / 1000).toFixed(1).padStart(6)}s  ${line}`);

async function step<T>(what: string, work: () => Promise<T>): Promise<T> {
  say(`${what} …`);
  return await work();
}

/** @throws Error that says what to do when the port is taken */
async function assertPortFree(port: number): Promise<void> {
  if (port === 0) return;
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

/** The cluster to use: the one of `--kubeconfig`, else a local one of our own. */
async function openCluster(options: DemoOptions, releasers: Releasers): Promise<KubectlAccess> {
  if (options.kubeconfig !== undefined) {
    if (!existsSync(options.kubeconfig)) {
      throw new Error(
        `failed to read ${options.kubeconfig}: no such file. Name a kubeconfig, or leave --kubeconfig out.`,
      );
    }
    const access = { kubectlPath: await resolveKubectl({ log: say }), kubeconfigPath: options.kubeconfig };
    await step(`using the cluster of ${options.kubeconfig}`, () =>
      kubectl(access, ['version', '--output=json']),
    );
    return access;
  }
  if (options.realNode) {
    const node = await step('starting Kubernetes with a real node (kubelet, containerd, runc)', () =>
      openRealNode(say),
    );
    releasers.push(() => node.stop());
    return node;
  }
  const cluster = await step(
    'starting Kubernetes (etcd, API server, controller manager, scheduler, kwok)',
    () => startCluster({ log: say }),
  );
  releasers.push(() => cluster.stop());
  return cluster;
}

async function openDatabase(releasers: Releasers): Promise<string> {
  const given = process.env['DATABASE_URL'];
  const what = given ? 'using the PostgreSQL of DATABASE_URL' : 'starting PostgreSQL';
  const postgres = await step(what, () => startPostgres(given ? { databaseUrl: given } : {}));
  releasers.push(() => postgres.stop());
  // A database of this run's own: what is in a given one stays as it is, and nothing of ours stays behind. Its owner is
  // no superuser: row-level security binds Berth as it is to be anywhere.
  const name = `berth_demo_${randomBytes(4).toString('hex')}`;
  const database = await step(`making the database ${name} there`, () => ordinaryDatabase(postgres, name));
  if (given) releasers.push(() => database.drop());
  return database.url;
}

async function prepareNamespace(access: KubectlAccess): Promise<void> {
  const namespace = {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: NAMESPACE, labels: { 'pod-security.kubernetes.io/enforce': 'baseline' } },
  };
  await kubectl(access, ['apply', '-f', '-'], JSON.stringify(namespace));
  await kubectl(access, ['apply', '-n', NAMESPACE, '-f', prerequisites]);
}

/** Builds need the cluster of the demo's own: their steps are processes of this machine. */
async function startBuilds(
  { kubeconfig, port }: DemoOptions,
  stateDir: string,
  releasers: Releasers,
): Promise<DemoBuilds | null> {
  if (kubeconfig !== undefined) {
    say('no git_host samples: builds would run on this machine, not in the cluster of --kubeconfig');
    return null;
  }
  const builds = await step('starting what builds need (git host, registry, BuildKit)', () =>
    openBuilds(stateDir, port, say),
  );
  if (builds !== null) releasers.push(() => builds.stop());
  return builds;
}

/** Starts everything, in order; what has to be ended later is added to `releasers`. */
export async function startStack(
  options: DemoOptions,
  stateDir: string,
  releasers: Releasers,
): Promise<DemoStack> {
  await assertPortFree(options.port);
  const databaseUrl = await openDatabase(releasers);
  const access = await openCluster(options, releasers);
  const namespace = options.hosting === 'self_hosted' ? NAMESPACE : null;
  const kubeconfigs = await step(
    'installing the custom resource and the rights of listener and operator',
    async () => {
      await installBerth(access);
      if (namespace !== null) await prepareNamespace(access);
      return await roleKubeconfigs(access, stateDir);
    },
  );
  const builds = options.hosting === 'cloud' ? await startBuilds(options, stateDir, releasers) : null;
  const settings: Record<string, string> = {
    DATABASE_URL: databaseUrl,
    BERTH_HOST: '127.0.0.1',
    BERTH_PORT: String(options.port),
    BERTH_METRICS_PORT: '0',
    BERTH_HOSTING: options.hosting,
    BERTH_ENCRYPTION_KEYS: `demo:${randomBytes(32).toString('base64')}`,
    BERTH_LISTENER_KUBECONFIG: kubeconfigs.listener,
    BERTH_OPERATOR_KUBECONFIG: kubeconfigs.operator,
    // The default is for programs; simulated ones need no such proof.
    ...(options.realNode ? REAL_NODE_SETTINGS : { BERTH_MIN_READY_SECONDS: '2' }),
    // Nothing is pulled from the registries that the samples name, and there may be no way to them.
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
  say(`Berth answers at ${berth.url}`);
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
  };
}
