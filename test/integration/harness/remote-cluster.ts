/** A second control plane (etcd, API server and all) with Berth's parts for another cluster installed, nothing running. */
import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FEW_COLLECTIONS, startCluster } from '../../cluster/cluster.ts';
import { type KubectlAccess, kubectl } from '../../cluster/kubectl.ts';
import { startWatchdog } from '../../cluster/processes.ts';
import { type BerthProcess, startBerth } from '../../installation/berth-process.ts';
import { installBerth, roleKubeconfigs } from '../../installation/install.ts';
import type { KubeList } from './berth.ts';

export interface RemoteCluster {
  /** As its administrator. */
  readonly access: KubectlAccess;
  readonly stateDir: string;
  /** Kubeconfigs of the roles' ServiceAccounts; only of a cluster with Berth installed. */
  kubeconfigs(): Promise<{ listener: string; operator: string }>;
  kubectl(...args: string[]): Promise<string>;
  /** Objects of a deployment, in all namespaces. */
  objectsOf(kinds: string, deploymentId: string): Promise<KubeList['items']>;
  /** Starts a role as a user would, with these settings and no others. */
  start(role: 'listener' | 'operator', settings: Record<string, string>): Promise<BerthProcess>;
  stop(): Promise<void>;
}

/** Objects of a deployment in a cluster, in all namespaces. */
export async function objectsOf(
  access: KubectlAccess,
  kinds: string,
  deploymentId: string,
): Promise<KubeList['items']> {
  const selector = `--selector=berth.dev/deployment-id=${deploymentId}`;
  const list = await kubectl(access, ['get', kinds, '--all-namespaces', selector, '--output=json']);
  return (JSON.parse(list) as KubeList).items;
}

/** @param options.install false: the cluster as it comes, without custom resource and rights */
export async function startRemoteCluster(options: { install?: boolean } = {}): Promise<RemoteCluster> {
  const stateDir = mkdtempSync(join(realpathSync(tmpdir()), 'berth-remote-'));
  const watchdog = startWatchdog(stateDir, { removeState: true });
  const cluster = await startCluster({ ...FEW_COLLECTIONS, log: () => undefined });
  const access = { kubeconfigPath: cluster.kubeconfigPath, kubectlPath: cluster.kubectlPath };
  const processes: BerthProcess[] = [];
  if (options.install !== false) await installBerth(access);
  return {
    access,
    stateDir,
    kubeconfigs: () => roleKubeconfigs(access, stateDir),
    kubectl: (...args) => kubectl(access, args),
    objectsOf: (kinds, deploymentId) => objectsOf(access, kinds, deploymentId),
    start: async (role, settings) => {
      const started = await startBerth({
        stateDir,
        role,
        // Nothing is pulled on simulated nodes, from registries that are not there.
        settings: { BERTH_RESOLVE_IMAGES: 'false', ...settings },
      });
      processes.push(started);
      return started;
    },
    stop: async () => {
      await Promise.all(processes.map((process) => process.stop()));
      await cluster.stop();
      watchdog.release();
      rmSync(stateDir, { recursive: true, force: true });
    },
  };
}
