/** A complete Berth for a bench: API, listener and operator in separate processes, with their own namespace. */
import { join } from 'node:path';
import pg from 'pg';
import { createKubeClient, type KubeClient } from '../../../src/cluster/kube/client/client.ts';
import type { KubectlAccess } from '../../cluster/kubectl.ts';
import { type ComponentName, startOrder } from '../../cluster/layout.ts';
import { runningPid } from '../../cluster/processes.ts';
import { startKubernetesProxy } from '../../faults/proxies/kubernetes-proxy.ts';
import type { KubernetesProxy } from '../../faults/proxies/kubernetes-traffic.ts';
import { createTenantKey, startBerth } from '../../installation/berth-process.ts';
import { canRunInCluster, inClusterSettings } from '../../installation/in-cluster.ts';
import { prepareBerth } from '../../integration/harness/berth-setup.ts';
import { call, PATH } from '../api/bodies.ts';
import { postgresOf } from '../api/hub.ts';
import type { BenchContext } from '../bench.ts';
import { familyCpuSeconds, processUsage } from '../process-usage.ts';
import { profiled } from '../profiles.ts';
import { clusterNote, clusterOf } from './cluster.ts';

export const ROLES = ['api', 'listener', 'operator'] as const;
export type BenchRole = (typeof ROLES)[number];
/** The roles that use the API server. */
export type ClusterRole = Exclude<BenchRole, 'api'>;
export const CLUSTER_ROLES: readonly ClusterRole[] = ['listener', 'operator'];

const REQUEST_TIMEOUT_MS = 60_000;
/** Number of parallel calls that are not measured. */
const PARALLEL_CALLS = 16;

/** The parts of a response that benches use. */
export interface Deployment {
  readonly id: string;
  readonly generation: number;
}

/** A Berth with a cluster. */
export interface ClusterBerth {
  /** Namespace of the workloads. */
  readonly namespace: string;
  readonly access: KubectlAccess;
  readonly apiKey: string;
  /** Client with administrator rights. */
  readonly admin: KubeClient;
  /** The proxy in front of the API server, for roles that are started with it. */
  readonly proxy: KubernetesProxy;
  readonly stateDir: string;
  /** What a reader of the result must know about the cluster. */
  readonly note: string;
  apiUrl(): string;
  pidOf(role: BenchRole): number;
  /** Processor time of a role since its start, in seconds. */
  cpuOf(role: BenchRole): number;
  /** Processor time of each component of Kubernetes since its start, in seconds. */
  cpuOfKubernetes(): ReadonlyMap<ComponentName, number>;
  /** Processor time of PostgreSQL and its sessions since its start, in seconds. 0 for a server that the run has not started. */
  cpuOfPostgres(): number;
  /** Starts a role. @param behindProxy whether the proxy records its requests to the API server */
  start(role: BenchRole, behindProxy?: boolean): Promise<void>;
  /** Sends SIGTERM, and resolves when the process has ended. It releases its leases. */
  end(role: BenchRole): Promise<void>;
  /** The kubeconfig of a role, without the proxy. */
  kubeconfigOf(role: ClusterRole): string;
  /** A client with the rights and settings of a role. The caller closes it. */
  clientOf(role: ClusterRole): Promise<KubeClient>;
  /** Creates another tenant. Returns its key. */
  otherTenant(name: string): Promise<string>;
  create(body: object, apiKey?: string): Promise<Deployment>;
  /** Deletes every deployment by the API. */
  deleteAll(): Promise<void>;
  stop(): Promise<void>;
}

/** Note for processes with the settings of faults/plans/usage.ts. */
const COLLECTED =
  ' Its processes have an additional module that collects all garbage when a bench requests this, as `soak` does.';

/** @throws Error if the process does not run, because its usage is unknown then */
function pidIn(stateDir: string, name: BenchRole | ComponentName | 'postgres'): number {
  const pid = runningPid(stateDir, name);
  if (pid === undefined) throw new Error(`failed to find ${name}: it does not run`);
  return pid;
}

/** Runs a task for each item, with limited parallelism. */
async function eachOf<T>(
  items: readonly T[],
  task: (item: T, index: number) => Promise<unknown>,
  atOnce = PARALLEL_CALLS,
): Promise<void> {
  let next = 0;
  const worker = async () => {
    for (let index = next++; index < items.length; index = next++) await task(items[index] as T, index);
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, items.length) }, worker));
}

/**
 * Creates database, namespaces, rights and a tenant. No role runs yet.
 * @param settings additional settings of every role
 */
export async function prepareClusterBerth(
  context: BenchContext,
  name: string,
  settings: Readonly<Record<string, string>> = {},
): Promise<ClusterBerth> {
  const cluster = await clusterOf(context);
  const postgres = await postgresOf(context);
  const prepared = await prepareBerth(`bench-${name}`, {
    access: cluster,
    postgres,
    settings: { BERTH_RATE_LIMIT: 'off', ...settings },
    checkout: context.root,
  });
  const { stateDir, apiKey, namespace } = prepared;
  const { kubeconfigPath } = cluster;
  const admin = await createKubeClient({
    kubeconfigPath,
    userAgent: 'berth-bench/admin',
    requestTimeoutMs: REQUEST_TIMEOUT_MS,
  });
  const database = new pg.Pool({ connectionString: prepared.database.adminUrl, max: 2 });
  database.on('error', () => undefined);
  const proxy = await startKubernetesProxy({ folder: stateDir });
  /** Keys of all tenants. */
  const keys = [apiKey];
  const running = new Map<BenchRole, { url: string; stop(): Promise<void> }>();
  const kubeconfigName = (role: ClusterRole) => `BERTH_${role.toUpperCase()}_KUBECONFIG`;
  const kubeconfigOf = (role: ClusterRole) => prepared.settings[kubeconfigName(role)] ?? '';
  const apiUrl = () => {
    const url = running.get('api')?.url;
    if (url === undefined) throw new Error('failed to find the API: it does not run');
    return url;
  };
  const pidOf = (role: BenchRole) => pidIn(stateDir, role);
  const connectionSettings = async (
    role: BenchRole,
    behindProxy: boolean,
  ): Promise<Record<string, string>> => {
    if (role === 'api') return {};
    const hub: Record<string, string> = role === 'listener' ? { BERTH_HUB_URL: apiUrl() } : {};
    const kubeconfig = behindProxy ? await proxy.kubeconfigFor(role, kubeconfigOf(role)) : kubeconfigOf(role);
    // An older version reads the ServiceAccount from a fixed folder, so it gets a kubeconfig.
    if (!canRunInCluster(context.root)) return { ...hub, [kubeconfigName(role)]: kubeconfig };
    return { ...hub, ...inClusterSettings(kubeconfig, join(stateDir, `${role}-service-account`)) };
  };
  const berth: ClusterBerth = {
    namespace,
    access: cluster,
    apiKey,
    admin,
    proxy,
    stateDir,
    note: `${clusterNote(cluster)}${'NODE_OPTIONS' in settings ? COLLECTED : ''}`,
    apiUrl,
    pidOf,
    cpuOf: (role) => processUsage(pidOf(role)).cpuSeconds,
    cpuOfKubernetes: () =>
      new Map(startOrder.map((name) => [name, processUsage(pidIn(cluster.stateDir, name)).cpuSeconds])),
    cpuOfPostgres: () =>
      postgres.stateDir === undefined ? 0 : familyCpuSeconds(pidIn(postgres.stateDir, 'postgres')),
    async start(role, behindProxy = false) {
      const connections = await connectionSettings(role, behindProxy);
      const settings = profiled(context, `${name}-${role}`, { ...prepared.settings, ...connections });
      running.set(role, await startBerth({ stateDir, name: role, role, settings, checkout: context.root }));
    },
    async end(role) {
      await running.get(role)?.stop();
      running.delete(role);
    },
    kubeconfigOf,
    clientOf: (role) =>
      createKubeClient({
        kubeconfigPath: kubeconfigOf(role),
        userAgent: `berth-bench/${role}`,
        requestTimeoutMs: REQUEST_TIMEOUT_MS,
      }),
    async otherTenant(tenant) {
      const { apiKey: key } = await createTenantKey(stateDir, tenant, prepared.settings, context.root);
      keys.push(key);
      return key;
    },
    create: (body, key = apiKey) => call<Deployment>(apiUrl(), key, 'POST', PATH, JSON.stringify(body)),
    async deleteAll() {
      const { rows } = await database.query<{ id: string }>('SELECT id FROM deployments');
      for (const key of keys) await eachOf(rows, ({ id }) => remove(key, id));
    },
    async stop() {
      for (const role of ROLES.toReversed()) await berth.end(role).catch(() => undefined);
      await proxy.stop();
      await admin.close();
      await database.end();
      await prepared.remove();
    },
  };
  /** Deletes a deployment. That of another tenant is not found, and ignored. */
  const remove = async (key: string, id: string) => {
    const response = await fetch(`${apiUrl()}${PATH}/${id}`, {
      method: 'DELETE',
      headers: { 'x-api-key': key },
    });
    await response.text();
    if (!response.ok && response.status !== 404)
      throw new Error(`failed to delete ${id}: ${response.status}`);
  };
  return berth;
}
