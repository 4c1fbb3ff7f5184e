import { loadClusterAccess } from '../access/cluster-access.ts';
import { HttpExecutor } from '../transport/http-executor.ts';
import { CallLimiter } from '../transport/limiter.ts';
import { createTransport } from '../transport/negotiate.ts';
import type { KubeClient, KubeClientOptions } from './client-types.ts';
import { RestClient } from './rest-client.ts';

export type * from './client-types.ts';

const DEFAULT_WRITES_IN_FLIGHT = 16;
/** Fewer than a server with two processors can handle, so that the writes of another tenant are fast (docs/decisions/0048). */
const WRITES_OF_ONE_TENANT = 3;

/**
 * Creates a client for the cluster in the options. Reads the kubeconfig (or the pod's service account) immediately
 * and fails if it is invalid. Connects with the first call.
 */
export async function createKubeClient(options: KubeClientOptions): Promise<KubeClient> {
  const access = await loadClusterAccess(options);
  const transport = createTransport({
    server: access.server,
    tls: () => access.tls(),
    protocol: options.protocol ?? 'auto',
    proxyAgent: access.proxyAgent,
    pingIntervalMs: options.pingIntervalMs,
    pingTimeoutMs: options.pingTimeoutMs,
  });
  const executor = new HttpExecutor({
    access,
    transport,
    userAgent: options.userAgent,
    timeoutMs: options.requestTimeoutMs,
    writes: new CallLimiter({
      total: options.maxWritesInFlight ?? DEFAULT_WRITES_IN_FLIGHT,
      perTenant: WRITES_OF_ONE_TENANT,
    }),
    observer: options.observer,
  });
  return new RestClient(executor);
}
