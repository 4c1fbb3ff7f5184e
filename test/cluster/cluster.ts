/** A real Kubernetes control plane on this machine, with simulated nodes. */
import { mkdirSync, mkdtempSync, realpathSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { accessFromKubeconfig } from './api-probe.ts';
import { resolveBinaries } from './binaries.ts';
import { componentSpec } from './components.ts';
import { writeCredentials, writeKubeconfig } from './credentials.ts';
import { kubectl, type ServiceAccountRef, writeServiceAccountKubeconfig } from './kubectl.ts';
import {
  type ClusterPorts,
  type ClusterRecord,
  type ComponentName,
  componentNames,
  paths,
  readRecord,
  removeState,
  startOrder,
  writeRecord,
} from './layout.ts';
import { freePorts, isPortTaken } from './ports.ts';
import {
  ProcessDiedError,
  runningPid,
  startProcess,
  startWatchdog,
  stopProcess,
  type Watchdog,
} from './processes.ts';
import {
  waitForApiServer,
  waitForControllers,
  waitForHealth,
  waitForServerCertificate,
} from './readiness.ts';

export interface ClusterOptions {
  /** State folder of the cluster. Default: a temporary folder, which is deleted with the cluster. */
  stateDir?: string;
  /** Whether etcd waits for the disk. Default: true. */
  fsync?: boolean;
  /** Whether requests of users other than the components are logged to `auditLogPath`. Default: false. */
  audit?: boolean;
  /** Controllers that kube-controller-manager does not run, such as `endpointslice-controller`. Default: it runs all controllers. */
  without?: readonly string[];
  /** GOGC of the programs: a higher value uses more memory and less processor time. Default: 100. */
  gcPercent?: number;
  /** Whether the cluster continues to run when this process ends. Default: false. */
  detached?: boolean;
  /** Whether programs on the PATH are used if their version fits. Default: false. */
  usePath?: boolean;
  /** Receives progress messages. Default: standard error. */
  log?: (line: string) => void;
}

/** For clusters of tests: a sixth of the processor time of an API server was its garbage collection. */
export const FEW_COLLECTIONS: ClusterOptions = { gcPercent: 400 };

export interface LocalCluster {
  /** Kubeconfig of the administrator. */
  readonly kubeconfigPath: string;
  /** URL of the API server. */
  readonly server: string;
  /** CA certificates of the API server, PEM. */
  readonly caPem: string;
  readonly stateDir: string;
  readonly kubectlPath: string;
  /** JSON lines of finished requests. Written only with the option `audit`. */
  readonly auditLogPath: string;
  /** Stops all components, and removes their state. */
  stop(): Promise<void>;
  /** Stops only the API server. Its port stays reserved. `SIGKILL` simulates a crash. */
  stopApiServer(signal?: NodeJS.Signals): Promise<void>;
  /** Starts the API server again, and waits until it is ready. */
  startApiServer(): Promise<void>;
  restartApiServer(): Promise<void>;
  /** Writes a kubeconfig with a token of the service account. Returns its path. */
  kubeconfigFor(account: ServiceAccountRef): Promise<string>;
}

const here = dirname(fileURLToPath(import.meta.url));

/** Starts a cluster, and waits until nodes are Ready. Takes seconds if the programs exist. */
export async function startCluster(options: ClusterOptions = {}): Promise<LocalCluster> {
  const log = options.log ?? ((line: string) => console.error(line));
  const binaries = await resolveBinaries({ log, usePath: options.usePath ?? false });
  const temporary = options.stateDir === undefined;
  for (let attempt = 1; ; attempt++) {
    const stateDir = await makeStateDir(options.stateDir);
    const record: ClusterRecord = {
      ports: await choosePorts(),
      binaries,
      fsync: options.fsync ?? true,
      audit: options.audit ?? false,
      ...(options.without && { without: options.without }),
      ...(options.gcPercent && { gcPercent: options.gcPercent }),
    };
    writeRecord(stateDir, record);
    const watchdog = startWatchdog(stateDir, { removeState: temporary });
    try {
      await startComponents(stateDir, record);
      if (options.detached) watchdog.release();
      return localCluster(stateDir, record, watchdog);
    } catch (error) {
      await stopComponents(stateDir);
      watchdog.release();
      // The logs stay, because the error contains their paths.
      removeState(stateDir, { keepLogs: true });
      const retry = error instanceof ProcessDiedError && isPortTaken(error.log) && attempt < 4;
      if (!retry) throw error;
      log(`${error.process} lost its port to another program; trying others …`);
    }
  }
}

/** The cluster whose state is in `stateDir`, regardless of the process that started it. Undefined if the folder has no cluster. */
export function attachCluster(stateDir: string): LocalCluster | undefined {
  const record = readRecord(stateDir);
  return record && localCluster(realpathSync(stateDir), record, undefined);
}

/** Stops all components of the cluster in `stateDir`, even if it is incomplete, and removes its state. False if the folder has no cluster. */
export async function stopCluster(stateDir: string): Promise<boolean> {
  if (!readRecord(stateDir)) return false;
  await stopComponents(realpathSync(stateDir));
  removeState(stateDir);
  return true;
}

/** Creates an empty state folder. An existing folder may contain leftovers of a cluster that did not stop in order. */
async function makeStateDir(wanted: string | undefined): Promise<string> {
  if (wanted === undefined) return mkdtempSync(join(realpathSync(tmpdir()), 'berth-cluster-'));
  mkdirSync(wanted, { recursive: true });
  const stateDir = realpathSync(wanted);
  await stopComponents(stateDir);
  removeState(stateDir);
  mkdirSync(stateDir, { recursive: true });
  return stateDir;
}

async function choosePorts(): Promise<ClusterPorts> {
  const free = await freePorts(startOrder.length);
  return Object.fromEntries(startOrder.map((name, index) => [name, free[index]])) as ClusterPorts;
}

function serverUrl(record: ClusterRecord): string {
  return `https://127.0.0.1:${record.ports['kube-apiserver']}`;
}

async function startComponents(stateDir: string, record: ClusterRecord): Promise<void> {
  const { tokens } = writeCredentials(stateDir);
  await run(stateDir, record, componentNames.etcd);
  await run(stateDir, record, componentNames.apiServer);
  const caPem = await waitForServerCertificate(stateDir);
  for (const [name, token] of Object.entries(tokens)) {
    writeKubeconfig(paths.kubeconfig(stateDir, name), {
      server: serverUrl(record),
      caPem,
      user: name,
      token,
    });
  }
  await waitForApiServer(stateDir);
  const others = [componentNames.controllerManager, componentNames.scheduler, componentNames.kwok];
  await Promise.all(others.map((name) => run(stateDir, record, name)));
  await createObjects(stateDir, record);
  await waitForControllers(stateDir);
  await waitForHealth(stateDir, record);
}

async function run(stateDir: string, record: ClusterRecord, name: ComponentName): Promise<void> {
  await startProcess(stateDir, componentSpec(stateDir, record, name));
}

/** Creates nodes and storage classes. */
async function createObjects(stateDir: string, record: ClusterRecord): Promise<void> {
  const access = { kubectlPath: record.binaries.kubectl, kubeconfigPath: paths.adminKubeconfig(stateDir) };
  const cacheDir = join(stateDir, 'kubectl-cache');
  await kubectl(access, [
    'create',
    '--validate=false',
    `--cache-dir=${cacheDir}`,
    '-f',
    join(here, 'manifests'),
  ]);
}

/** Stops clients before servers, so that they log no connection errors. */
async function stopComponents(stateDir: string): Promise<void> {
  const { etcd, apiServer } = componentNames;
  const clients = startOrder.filter((name) => name !== etcd && name !== apiServer);
  await Promise.all(clients.map((name) => stopProcess(stateDir, name, { timeoutMs: 3000 })));
  await stopProcess(stateDir, apiServer, { timeoutMs: 5000 });
  await stopProcess(stateDir, etcd, { timeoutMs: 5000 });
}

function localCluster(stateDir: string, record: ClusterRecord, watchdog: Watchdog | undefined): LocalCluster {
  const kubeconfigPath = paths.adminKubeconfig(stateDir);
  const kubectlPath = record.binaries.kubectl;
  const stopApiServer = (signal?: NodeJS.Signals) =>
    stopProcess(stateDir, componentNames.apiServer, { signal });
  const startApiServer = async () => {
    if (runningPid(stateDir, componentNames.apiServer) === undefined) {
      await run(stateDir, record, componentNames.apiServer);
    }
    await waitForApiServer(stateDir);
  };
  return {
    kubeconfigPath,
    server: serverUrl(record),
    caPem: accessFromKubeconfig(kubeconfigPath).caPem,
    stateDir,
    kubectlPath,
    auditLogPath: paths.auditLog(stateDir),
    stopApiServer,
    startApiServer,
    restartApiServer: async () => {
      await stopApiServer();
      await startApiServer();
    },
    kubeconfigFor: async (account) => {
      const path = join(stateDir, 'service-accounts', `${account.namespace}-${account.name}.kubeconfig`);
      await writeServiceAccountKubeconfig({ kubectlPath, kubeconfigPath }, account, path);
      return path;
    },
    stop: async () => {
      await stopCluster(stateDir);
      watchdog?.release();
    },
  };
}
