/** Starts roles the way they run in a pod: with the files of a ServiceAccount, without a kubeconfig. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';

interface Kubeconfig {
  'current-context': string;
  contexts: { name: string; context: { cluster: string; user: string } }[];
  clusters: { name: string; cluster: { server: string; 'certificate-authority-data': string } }[];
  users: { name: string; user: { token: string } }[];
}

const entry = <T extends { name: string }>(entries: readonly T[], name: string): T => {
  const found = entries.find((each) => each.name === name);
  if (found === undefined) throw new Error(`failed to read a kubeconfig: it has no entry ${name}`);
  return found;
};

/**
 * Writes the token and the certificate authority of a kubeconfig as files of a ServiceAccount.
 * @param folder where the files are written
 * @returns the settings of a role that uses them
 */
export function inClusterSettings(kubeconfigPath: string, folder: string): Record<string, string> {
  const content = parse(readFileSync(kubeconfigPath, 'utf8')) as Kubeconfig;
  const { context } = entry(content.contexts, content['current-context']);
  const { cluster } = entry(content.clusters, context.cluster);
  const { token } = entry(content.users, context.user).user;
  const ca = Buffer.from(cluster['certificate-authority-data'], 'base64');
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  writeFileSync(join(folder, 'token'), token, { mode: 0o600 });
  writeFileSync(join(folder, 'ca.crt'), ca);
  const { hostname, port } = new URL(cluster.server);
  return {
    KUBERNETES_SERVICE_HOST: hostname,
    KUBERNETES_SERVICE_PORT: port || '443',
    BERTH_SERVICE_ACCOUNT_PATH: folder,
    // A kubeconfig of the caller's environment would be used first.
    KUBECONFIG: '',
    BERTH_KUBECONFIG: '',
    BERTH_LISTENER_KUBECONFIG: '',
    BERTH_OPERATOR_KUBECONFIG: '',
  };
}

/** Whether the version of Berth in this checkout has the setting BERTH_SERVICE_ACCOUNT_PATH. */
export function canRunInCluster(checkout: string): boolean {
  return existsSync(join(checkout, 'src/cluster/kube/access/service-account.ts'));
}
