/** The state folder of a local cluster, and the record by which other processes find the cluster. */
import { existsSync, readdirSync, readFileSync, renameSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ClusterBinaries } from './binaries.ts';

export const componentNames = {
  etcd: 'etcd',
  apiServer: 'kube-apiserver',
  controllerManager: 'kube-controller-manager',
  scheduler: 'kube-scheduler',
  kwok: 'kwok',
} as const;

export type ComponentName = (typeof componentNames)[keyof typeof componentNames];

/** The order of their start. They stop in the opposite order. */
export const startOrder: readonly ComponentName[] = [
  componentNames.etcd,
  componentNames.apiServer,
  componentNames.controllerManager,
  componentNames.scheduler,
  componentNames.kwok,
];

export type ClusterPorts = Record<ComponentName, number>;

/** Contents of `cluster.json` in the state folder, which other processes need to control the cluster. */
export interface ClusterRecord {
  ports: ClusterPorts;
  binaries: ClusterBinaries;
  fsync: boolean;
  audit: boolean;
  /** Controllers of kube-controller-manager that do not run. Absent: all run. */
  without?: readonly string[];
  /** GOGC of the programs. Absent: their default. */
  gcPercent?: number;
}

export const paths = {
  record: (stateDir: string) => join(stateDir, 'cluster.json'),
  adminKubeconfig: (stateDir: string) => join(stateDir, 'admin.kubeconfig'),
  kubeconfig: (stateDir: string, name: string) => join(stateDir, `${name}.kubeconfig`),
  serverCertificate: (stateDir: string) => join(stateDir, 'pki', 'apiserver.crt'),
  auditLog: (stateDir: string) => join(stateDir, 'logs', 'audit.log'),
};

export function writeRecord(stateDir: string, record: ClusterRecord): void {
  const path = paths.record(stateDir);
  writeFileSync(`${path}.new`, `${JSON.stringify(record, null, 2)}\n`);
  renameSync(`${path}.new`, path);
}

/** The record of the cluster in a state folder. Undefined if the folder has no record. */
export function readRecord(stateDir: string): ClusterRecord | undefined {
  const path = paths.record(stateDir);
  return existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as ClusterRecord) : undefined;
}

const OWN_ENTRIES =
  /^(cluster\.json|etcd|pki|pids|logs|service-accounts|kubectl-cache|.*\.kubeconfig|audit-policy\.json|scheduler-config\.json)$/;

/** Removes the files of a cluster from its state folder, and the folder if it is empty. */
export function removeState(stateDir: string, options: { keepLogs?: boolean } = {}): void {
  if (!existsSync(stateDir)) return;
  for (const entry of readdirSync(stateDir)) {
    if (!OWN_ENTRIES.test(entry) || (options.keepLogs && entry === 'logs')) continue;
    rmSync(join(stateDir, entry), { recursive: true, force: true });
  }
  if (readdirSync(stateDir).length === 0) rmdirSync(stateDir);
}
