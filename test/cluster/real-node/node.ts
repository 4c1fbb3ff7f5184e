/**
 * A real Kubernetes of one node on this machine: the control plane, and a kubelet that runs containers by containerd and
 * runc. All of it is in mount, network and process namespaces of its own, so that nothing of the machine changes, others
 * may run beside it, and one kill ends everything. Images come from a registry beside it.
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
import { files, SANDBOX_IMAGE, writeSettings } from './settings.ts';
import { type NodeTools, resolveNodeTools } from './tools.ts';
import { openTunnel, type Tunnel } from './tunnel.ts';

export interface RealNodeOptions {
  /** Receives progress, a line at a time. Default: standard error. */
  log?: (line: string) => void;
}

export interface RealNode {
  /** Kubeconfig of the administrator, for programs of this machine. */
  readonly kubeconfigPath: string;
  readonly kubectlPath: string;
  readonly stateDir: string;
  /** Where images are pushed to. */
  readonly registry: LocalRegistry;
  /** `host:port` of the same registry, as pods and containerd know it: what the names of images begin with. */
  readonly imageHost: string;
  /** Base URL on this machine's loopback that leads to a place in the node's network. */
  forward(host: string, port: number): Promise<string>;
  /** Lets what listens on this port of this machine's loopback be reached by pods; returns `host:port`. */
  expose(port: number): Promise<string>;
  /** Runs a command in the node's namespaces and gives what it prints. */
  run(command: string, args: readonly string[]): Promise<string>;
  /** Runs ctr, containerd's own client. */
  ctr(args: readonly string[]): Promise<string>;
  stop(): Promise<void>;
}

const PREFIX = 'berth-node-';
/** Volumes for claims; each is there for one. */
const VOLUMES = 24;
const objects = join(dirname(fileURLToPath(import.meta.url)), 'objects.yaml');

const USERS: readonly ComponentUser[] = [
  { name: `system:node:${NODE_NAME}`, kubeconfig: 'kubelet', groups: 'system:nodes' },
  { name: 'system:kube-proxy', kubeconfig: 'kube-proxy', groups: '' },
  // It only reads; the role that Kubernetes brings for it knows no EndpointSlices.
  { name: 'coredns', kubeconfig: 'coredns', groups: 'system:masters' },
];

/**
 * Starts a node and waits until it takes pods; ends with this process, however that ends.
 * @throws BinariesMissingError where no kubelet can run (`whyNoRealNode`), or a program cannot be had
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

/** The API server has the same port inside and outside, so that one kubeconfig does for both. */
async function startControlPlane(stateDir: string, record: ClusterRecord, tunnel: Tunnel): Promise<void> {
  const { tokens } = writeCredentials(stateDir, USERS);
  const [etcd, apiServer, ...others] = CONTROL_PLANE;
  const port = record.ports['kube-apiserver'];
  await startComponent(stateDir, record, etcd);
  await startComponent(stateDir, record, apiServer);
  const caPem = await waitForServerCertificate(stateDir);
  for (const [name, token] of Object.entries(tokens)) {
    // Its certificate names localhost, and no address of loopback.
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

/** The inner end of the tunnel needs a moment to listen. */
async function exposeWhenReady(tunnel: Tunnel, stateDir: string, port: number): Promise<void> {
  const expose = () => tunnel.expose(NODE_ADDRESS, port).then(() => true);
  const giveUpIf = () => assertRunning(stateDir, ['tunnel']);
  await waitFor('the tunnel', expose, { timeoutMs: 60_000, giveUpIf });
}

/** Storage class and volumes. */
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

/** The end of the first process is that of all; the kernel takes mounts and network with it. */
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
    forward: async (host, port) => `http://127.0.0.1:${await tunnel.forward(host, port)}`,
    expose: async (port) => {
      await tunnel.expose(NODE_ADDRESS, port);
      return `${NODE_ADDRESS}:${port}`;
    },
    run: (command, args) => runInside(stateDir, command, args),
    ctr: (args) => ctr(stateDir, tools, args),
    stop,
  };
}
