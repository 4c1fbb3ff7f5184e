/** Command lines of the components. All listen on 127.0.0.1. */
import { readdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { NODE_OF_BUILDS } from './build-node/interface.ts';
import { type ClusterRecord, type ComponentName, componentNames, paths } from './layout.ts';
import type { ProcessSpec } from './processes.ts';

const here = dirname(fileURLToPath(import.meta.url));
const HOST = '127.0.0.1';

/** The process of a component of the cluster in `stateDir`. */
export function componentSpec(stateDir: string, record: ClusterRecord, name: ComponentName): ProcessSpec {
  const spec = commandOf(stateDir, record, name);
  if (record.gcPercent === undefined) return spec;
  return { ...spec, env: { ...(spec.env ?? environment()), GOGC: String(record.gcPercent) } };
}

function commandOf(stateDir: string, record: ClusterRecord, name: ComponentName): ProcessSpec {
  const command = record.binaries[name];
  const port = record.ports[name];
  const kubeconfig = paths.kubeconfig(stateDir, name);
  switch (name) {
    case componentNames.etcd:
      return { name, command, args: etcdArgs(stateDir, port, record.fsync) };
    case componentNames.apiServer:
      return { name, command, args: apiServerArgs(stateDir, record) };
    case componentNames.controllerManager:
      return { name, command, args: controllerManagerArgs(stateDir, record, kubeconfig) };
    case componentNames.scheduler:
      return { name, command, args: schedulerArgs(stateDir, port, kubeconfig) };
    case componentNames.kwok:
      // A separate settings folder, so that a kwok.yaml in the user's home has no effect.
      return {
        name,
        command,
        args: kwokArgs(port, kubeconfig),
        env: { ...environment(), KWOK_WORKDIR: stateDir },
      };
  }
}

function environment(): Record<string, string> {
  return Object.fromEntries(Object.entries(process.env).map(([name, value]) => [name, value ?? '']));
}

function etcdArgs(stateDir: string, port: number, fsync: boolean): string[] {
  const url = `http://${HOST}:${port}`;
  return [
    `--data-dir=${join(stateDir, 'etcd')}`,
    `--listen-client-urls=${url}`,
    `--advertise-client-urls=${url}`,
    // There is only one member, so the peer port is not used.
    `--listen-peer-urls=http://${HOST}:0`,
    ...(fsync ? [] : ['--unsafe-no-fsync']),
  ];
}

function apiServerArgs(stateDir: string, record: ClusterRecord): string[] {
  const pki = join(stateDir, 'pki');
  const serviceAccountKey = join(pki, 'service-account.key');
  return [
    `--etcd-servers=http://${HOST}:${record.ports.etcd}`,
    `--bind-address=${HOST}`,
    `--advertise-address=${HOST}`,
    `--secure-port=${record.ports['kube-apiserver']}`,
    // The API server creates its certificate and CA in this folder. apiserver.crt contains both.
    `--cert-dir=${pki}`,
    `--token-auth-file=${join(pki, 'tokens.csv')}`,
    '--authorization-mode=RBAC',
    '--service-account-issuer=https://kubernetes.default.svc',
    `--service-account-key-file=${serviceAccountKey}`,
    `--service-account-signing-key-file=${serviceAccountKey}`,
    '--service-cluster-ip-range=10.96.0.0/16',
    '--allow-privileged=true',
    // The API server rejects a loopback address as the endpoint of the Service "kubernetes". No simulated pod needs it.
    '--endpoint-reconciler-type=none',
    // At a stop, open watches end at once. By default, the API server waits for up to a minute.
    '--shutdown-watch-termination-grace-period=1s',
    ...(record.audit ? auditArgs(stateDir) : []),
  ];
}

/** Logs one line for each finished request, except for those of the components. */
function auditArgs(stateDir: string): string[] {
  const policy = join(stateDir, 'audit-policy.json');
  const components = ['system:kube-controller-manager', 'system:kube-scheduler', 'system:apiserver', 'kwok'];
  const content = {
    apiVersion: 'audit.k8s.io/v1',
    kind: 'Policy',
    omitStages: ['RequestReceived', 'ResponseStarted'],
    rules: [{ level: 'None', users: components }, { level: 'Metadata' }],
  };
  writeFileSync(policy, JSON.stringify(content));
  return [
    `--audit-policy-file=${policy}`,
    `--audit-log-path=${paths.auditLog(stateDir)}`,
    // Each line is written before the response, so a test can count immediately.
    '--audit-log-mode=blocking',
    // One file for the whole run (size in MB), because readers remember positions in it.
    '--audit-log-maxsize=100000',
  ];
}

function controllerManagerArgs(stateDir: string, record: ClusterRecord, kubeconfig: string): string[] {
  const concurrency = ['deployment', 'replicaset', 'statefulset', 'job', 'gc', 'endpoint', 'namespace'];
  return [
    `--kubeconfig=${kubeconfig}`,
    `--authentication-kubeconfig=${kubeconfig}`,
    `--authorization-kubeconfig=${kubeconfig}`,
    `--bind-address=${HOST}`,
    `--secure-port=${record.ports['kube-controller-manager']}`,
    '--leader-elect=false',
    `--service-account-private-key-file=${join(stateDir, 'pki', 'service-account.key')}`,
    `--root-ca-file=${paths.serverCertificate(stateDir)}`,
    // Tests create and delete hundreds of objects at once. With the defaults (20/30) they would measure this limit.
    '--kube-api-qps=500',
    '--kube-api-burst=1000',
    ...concurrency.map((kind) => `--concurrent-${kind}-syncs=20`),
    '--horizontal-pod-autoscaler-sync-period=5s',
    ...(record.without
      ? [`--controllers=${['*', ...record.without.map((name) => `-${name}`)].join(',')}`]
      : []),
    // Simulated nodes never fail. When the API server was down for a minute, pods must not be evicted.
    '--node-monitor-grace-period=1h',
  ];
}

function schedulerArgs(stateDir: string, port: number, kubeconfig: string): string[] {
  const config = join(stateDir, 'scheduler-config.json');
  const content = {
    apiVersion: 'kubescheduler.config.k8s.io/v1',
    kind: 'KubeSchedulerConfiguration',
    leaderElection: { leaderElect: false },
    clientConnection: { kubeconfig, qps: 500, burst: 1000 },
    podInitialBackoffSeconds: 1,
    podMaxBackoffSeconds: 2,
  };
  writeFileSync(config, JSON.stringify(content));
  return [
    `--config=${config}`,
    `--authentication-kubeconfig=${kubeconfig}`,
    `--authorization-kubeconfig=${kubeconfig}`,
    `--bind-address=${HOST}`,
    `--secure-port=${port}`,
  ];
}

function kwokArgs(port: number, kubeconfig: string): string[] {
  const stages = join(here, 'stages');
  const files = readdirSync(stages).filter((file) => file.endsWith('.yaml'));
  return [
    `--kubeconfig=${kubeconfig}`,
    // All nodes except the build node, whose containers are real processes.
    '--manage-all-nodes=false',
    `--manage-nodes-with-label-selector=!${NODE_OF_BUILDS.label}`,
    '--node-lease-duration-seconds=40',
    `--node-ip=${HOST}`,
    `--server-address=${HOST}:${port}`,
    ...files.map((file) => `--config=${join(stages, file)}`),
  ];
}
