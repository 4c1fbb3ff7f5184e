import type { KubeClient, KubeClientOptions } from '../cluster/kube/client/client.ts';
import { sleep, systemClock } from '../cluster/kube/client/clock.ts';
import { isKubeError } from '../cluster/kube/client/errors.ts';
import type { Config } from '../config/index.ts';
import type { Logger } from '../domain/core/logger.ts';

const REQUEST_TIMEOUT_MS = 15_000;
const RETRY_MS = 1_000;

/**
 * Access of a role to its cluster: its kubeconfig, otherwise the ServiceAccount of the pod.
 * @throws Error with the next step when neither exists
 */
export function clusterOptions(
  config: Config,
  kubeconfigPath: string | null,
  userAgent: string,
): KubeClientOptions {
  const { inCluster, clusterEnvironment: environment, serviceAccountPath } = config;
  const common = { userAgent, requestTimeoutMs: REQUEST_TIMEOUT_MS };
  if (kubeconfigPath !== null) return { ...common, kubeconfigPath };
  if (inCluster) return { ...common, inCluster: true, environment, serviceAccountPath };
  throw new Error(
    'failed to find a cluster: neither a kubeconfig nor a pod’s ServiceAccount; next: set KUBECONFIG, or run Berth in a pod',
  );
}

/**
 * `major.minor` of the cluster. Waits while the API server does not respond.
 * @throws KubeError if a retry does not help; AbortError when the process stops
 */
export async function clusterVersion(
  client: KubeClient,
  logger: Logger,
  signal: AbortSignal,
): Promise<string> {
  for (;;) {
    try {
      const { major, minor } = await client.serverVersion({ signal });
      return `${major}.${minor.replace(/\D.*$/, '')}`;
    } catch (error) {
      signal.throwIfAborted();
      if (!isKubeError(error) || !error.retryable) throw error;
      logger.warn({ error: error.message }, 'the API server does not answer; waiting');
      await sleep(systemClock, RETRY_MS, signal);
    }
  }
}
