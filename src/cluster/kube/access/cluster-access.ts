import type http from 'node:http';
import type { ConnectionOptions } from 'node:tls';
import { SERVICE_ACCOUNT_FOLDER, serviceAccountAccess } from './service-account.ts';

/** Address and credentials of one cluster. */
export interface ClusterAccess {
  server: URL;
  /** Namespace of the context or of the pod, if set. */
  namespace: string | undefined;
  /** Headers that authenticate the caller. */
  headers(): Promise<Record<string, string | string[]>>;
  /** Certificate authorities and client certificate, read again on each call. */
  tls(): Promise<ConnectionOptions>;
  /** Connects through the proxy of the kubeconfig. Absent: connections are direct. */
  proxyAgent?: http.Agent;
  /** Called after a 401 with the headers of the call: drops these credentials from the cache. */
  invalidate(rejected: Record<string, string | string[]>): void;
}

export interface AccessOptions {
  kubeconfigPath?: string;
  inCluster?: boolean;
  context?: string;
  /** Variables with the address of the API server in a pod. */
  environment?: Readonly<Record<string, string | undefined>>;
  /** Folder of the pod's service account. Default: the usual one. */
  serviceAccountPath?: string;
}

/** Resolves the options to an address and credentials. Errors name the file and the problem, never a secret. */
export async function loadClusterAccess(options: AccessOptions): Promise<ClusterAccess> {
  const {
    inCluster,
    kubeconfigPath,
    environment = {},
    serviceAccountPath = SERVICE_ACCOUNT_FOLDER,
  } = options;
  if (inCluster) return serviceAccountAccess(environment, serviceAccountPath);
  if (!kubeconfigPath) {
    throw new Error('failed to reach a cluster: neither a kubeconfig nor in-cluster mode is configured');
  }
  // Loads @kubernetes/client-node, which takes 80 MiB and a second. In a pod the module is not loaded.
  const { kubeconfigAccess } = await import('./kubeconfig/kubeconfig-access.ts');
  return kubeconfigAccess(kubeconfigPath, options.context);
}
