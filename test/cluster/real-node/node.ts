/**
 * A real Kubernetes with one node on this machine: the control plane, and a kubelet that runs containers with containerd and
 * runc. Everything runs in separate mount, network and process namespaces. So nothing on the machine changes, several nodes
 * can run at the same time, and one kill ends everything. Images come from a registry next to the node.
 */
import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { BinariesMissingError } from '../binaries.ts';
import { type ComponentUser, writeCredentials, writeKubeconfig } from '../credentials.ts';
import { removeCgroups, removeOrphanedCgroups } from '../images/cgroups.ts';
import { type LocalRegistry, startRegistry } from '../images/registry.ts';
import { kubectl } from '../kubectl.ts';
import { type ClusterPorts, type ClusterRecord, paths, startOrder } from '../layout.ts';
import { freePorts } from '../ports.ts';
import { assertRunning, startWatchdog, stopProcess } from '../processes.ts';
import { waitForApiServer, waitForControllers, waitForServerCertificate } from '../readiness.ts';
import { waitFor } from '../wait.ts';
import { NODE_ADDRESS, NODE_NAME } from './addresses.ts';
import { cgroupExists, makeCgroup } from './cgroup.ts';
import { ALL_PROCESSES, CONTROL_PLANE, startComponent, startNodeProcess } from './components.ts';
import { enter, makeNamespaces, NAMESPACES } from './namespaces.ts';
import { whyNoRealNode } from './preconditions.ts';
import { sandboxImage } from './sandbox-image.ts';
import { files, SANDBOX_IMAGE, writeRegistry, writeSettings } from './settings.ts';
import { type NodeTools, resolveNodeTools } from './tools.ts';
import { openTunnel, type Tunnel } from './tunnel.ts';

export interface RealNodeOptions {
  /** Receives progress messages. Default: standard error. */
  log?: (line: string) => void;
}

export interface RealNode {
  /** Kubeconfig of the administrator, for programs of this machine. */
  readonly kubeconfigPath: string;
  readonly kubectlPath: string;
  readonly stateDir: string;
  /** The registry to which images are pushed. */
  readonly registry: LocalRegistry;
  /** `host:port` of the same registry for pods and containerd. Image names begin with it. */
  readonly imageHost: string;
  /** Forwards a local port to an address in the node's network. Returns the local base URL. @param localPort default: a free port */
  forward(host: string, port: number, localPort?: number): Promise<string>;
  /** Makes a local port reachable for pods. Returns its `host:port`. */
  expose(port: number): Promise<string>;
  /** Pulls the images of a host from this host, over plain HTTP, instead of from the registry next to the node. */
  pullFrom(host: string): void;
  /** Runs a command in the node's namespaces, and returns its output. */
  run(command: string, args: readonly string[]): Promise<string>;
  /** Runs ctr, the client of containerd. */
  ctr(args: readonly string[]): Promise<string>;
  stop(): Promise<void>;
}

const PREFIX = 'berth-node-';
/** Number of volumes. Each claim needs one. */
const VOLUMES = 24;
const objects = join(dirname(fileURLToPath(import.meta.url)), 'objects.yaml');

const USERS: readonly ComponentUser[] = [
  { name: `system:node:${NODE_NAME}`, kubeconfig: 'kubelet', groups: 'system:nodes' },
  { name: 'system:kube-proxy', kubeconfig: 'kube-proxy', groups: '' },
  // CoreDNS only reads. The default role of Kubernetes for it does not include EndpointSlices.
  { name: 'coredns', kubeconfig: 'coredns', groups: 'system:masters' },
];

/**
 * Starts a node, and waits until it accepts pods. It stops when this process ends.
 * @throws BinariesMissingError if a kubelet cannot run here (`whyNoRealNode`), or a program is not available
 */
export async function startRealNode(options: RealNodeOptions = {}): Promise<RealNode> {
  const why = whyNoRealNode();
  if (why !== undefined) throw new BinariesMissingError(`No real node can run here: ${why}.`);
  const tools = await resolveNodeTools(options);
  const parent = realpathSync(tmpdir());
  removeOrphanedCgroups(PREFIX, parent);
  const registry = await startRegistry(options);
  const stateDir = mkdtempSync(join(parent, PREFIX));
  const watchdog = startWatchdog(stateDir, { removeState: true });
  let tunnel: Tunnel | undefined;
  const stop = async () => {
    tunnel?.close();
    await stopAll(stateDir);
    await registry.stop();
    watchdog.release();
    rmSync(stateDir, { recursive: true, force: true });
  };
  try {
    const record = await recordOf(tools);
    mkdirSync(join(stateDir, 'logs'), { recursive: true });
    makeCgroup(basename(stateDir));
    writeSettings(stateDir, tools, registry.port);
    await makeNamespaces(stateDir);
    tunnel = await openTunnel(stateDir);
    await startNodeProcess(stateDir, tools, 'tunnel');
    await Promise.all([
      startControlPlane(stateDir, record, tunnel),
      startContainerd(stateDir, tools),
      exposeWhenReady(tunnel, stateDir, registry.port),
    ]);
    for (const name of ['kubelet', 'kube-proxy', 'coredns'] as const) {
      await startNodeProcess(stateDir, tools, name);
    }
    await createObjects(stateDir, tools);
    await waitForControllers(stateDir, ALL_PROCESSES);
    return realNode({ stateDir, tools, registry, tunnel, stop });
  } catch (error) {
    await stop();
    throw error;
  }
}

async function recordOf(tools: NodeTools): Promise<ClusterRecord> {
  const free = await freePorts(startOrder.length);
  const ports = Object.fromEntries(startOrder.map((name, index) => [name, free[index]])) as ClusterPorts;
  return { ports, binaries: tools.cluster, fsync: false, audit: false };
}

/** The API server has the same port inside and outside of the namespaces, so one kubeconfig works for both. */
async function startControlPlane(stateDir: string, record: ClusterRecord, tunnel: Tunnel): Promise<void> {
  const { tokens } = writeCredentials(stateDir, USERS);
  const [etcd, apiServer, ...others] = CONTROL_PLANE;
  const port = record.ports['kube-apiserver'];
  await startComponent(stateDir, record, etcd);
  await startComponent(stateDir, record, apiServer);
  const caPem = await waitForServerCertificate(stateDir);
  for (const [name, token] of Object.entries(tokens)) {
    // Its certificate is valid for localhost, but not for loopback addresses.
    const server = `https://localhost:${port}`;
    writeKubeconfig(paths.kubeconfig(stateDir, name), { server, caPem, user: name, token });
  }
  await tunnel.forward('127.0.0.1', port, port);
  await waitForApiServer(stateDir);
  await Promise.all(others.map((name) => startComponent(stateDir, record, name)));
}

async function startContainerd(stateDir: string, tools: NodeTools): Promise<void> {
  await startNodeProcess(stateDir, tools, 'containerd');
  const image = await sandboxImage(stateDir);
  const answers = async () => (await ctr(stateDir, tools, ['version'])) !== '';
  const giveUpIf = () => assertRunning(stateDir, ['containerd']);
  await waitFor('containerd', answers, { timeoutMs: 60_000, giveUpIf });
  await ctr(stateDir, tools, ['images', 'import', '--index-name', SANDBOX_IMAGE, image]);
}

/** Retries until the inner end of the tunnel listens. */
async function exposeWhenReady(tunnel: Tunnel, stateDir: string, port: number): Promise<void> {
  const expose = () => tunnel.expose(NODE_ADDRESS, port).then(() => true);
  const giveUpIf = () => assertRunning(stateDir, ['tunnel']);
  await waitFor('the tunnel', expose, { timeoutMs: 60_000, giveUpIf });
}

/** Creates storage class and volumes. */
async function createObjects(stateDir: string, tools: NodeTools): Promise<void> {
  const access = {
    kubectlPath: tools.cluster.kubectl,
    kubeconfigPath: paths.adminKubeconfig(stateDir),
  };
  const cache = `--cache-dir=${join(stateDir, 'kubectl-cache')}`;
  const volumes = Array.from({ length: VOLUMES }, (_, index) => volume(stateDir, index));
  await kubectl(access, ['create', cache, '-f', objects]);
  const list = JSON.stringify({ apiVersion: 'v1', kind: 'List', items: volumes });
  await kubectl(access, ['create', cache, '-f', '-'], list);
}

function volume(stateDir: string, index: number): object {
  const path = join(stateDir, 'volumes', `${index}`);
  mkdirSync(path, { recursive: true });
  const here = [{ key: 'kubernetes.io/hostname', operator: 'In', values: [NODE_NAME] }];
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { name: `local-${index}` },
    spec: {
      storageClassName: 'local',
      capacity: { storage: '1Ti' },
      accessModes: ['ReadWriteOnce'],
      persistentVolumeReclaimPolicy: 'Retain',
      local: { path },
      nodeAffinity: { required: { nodeSelectorTerms: [{ matchExpressions: here }] } },
    },
  };
}

async function runInside(stateDir: string, command: string, args: readonly string[]): Promise<string> {
  const options = { maxBuffer: 1 << 26 };
  const { stdout } = await promisify(execFile)('nsenter', [...enter(stateDir), command, ...args], options);
  return stdout;
}

function ctr(stateDir: string, { node }: NodeTools, args: readonly string[]): Promise<string> {
  const socket = files.containerdSocket(stateDir);
  return runInside(stateDir, node.ctr, ['--address', socket, '--namespace', 'k8s.io', ...args]);
}

/** When the first process ends, all end, and the kernel removes mounts and network. */
async function stopAll(stateDir: string): Promise<void> {
  await stopProcess(stateDir, NAMESPACES, { signal: 'SIGKILL' });
  for (const name of ALL_PROCESSES) await stopProcess(stateDir, name, { signal: 'SIGKILL' });
  const cgroup = basename(stateDir);
  const gone = async () => {
    removeCgroups(cgroup);
    return !cgroupExists(cgroup);
  };
  await waitFor('the cgroups of the node to be gone', gone, { timeoutMs: 30_000 });
}

function realNode(parts: {
  stateDir: string;
  tools: NodeTools;
  registry: LocalRegistry;
  tunnel: Tunnel;
  stop: () => Promise<void>;
}): RealNode {
  const { stateDir, tools, registry, tunnel, stop } = parts;
  return {
    kubeconfigPath: paths.adminKubeconfig(stateDir),
    kubectlPath: tools.cluster.kubectl,
    stateDir,
    registry,
    imageHost: `${NODE_ADDRESS}:${registry.port}`,
    forward: async (host, port, localPort) =>
      `http://127.0.0.1:${await tunnel.forward(host, port, localPort)}`,
    expose: async (port) => {
      await tunnel.expose(NODE_ADDRESS, port);
      return `${NODE_ADDRESS}:${port}`;
    },
    pullFrom: (host) => writeRegistry(stateDir, host),
    run: (command, args) => runInside(stateDir, command, args),
    ctr: (args) => ctr(stateDir, tools, args),
    stop,
  };
}
