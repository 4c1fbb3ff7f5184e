import { loadClusterAccess } from '../access/cluster-access.ts';
import { HttpExecutor } from '../transport/http-executor.ts';
import { CallLimiter } from '../transport/limiter.ts';
import { createTransport } from '../transport/negotiate.ts';
import type { KubeClient, KubeClientOptions } from './client-types.ts';
import { RestClient } from './rest-client.ts';

export type * from './client-types.ts';

const DEFAULT_WRITES_IN_FLIGHT = 16;
/**
 * Limits for the writes of one tenant. Two concurrent writes use a server with two processors as fully as sixteen, and
 * another tenant gets a faster response. Tenants with few writes come first. A server that is slow without load
 * (admission webhooks) still gets up to 8 concurrent writes, 40 per second (docs/decisions/0048).
 */
const WRITES_OF_ONE_TENANT = {
  maxOfGroup: 8,
  share: { atOnce: 2, everyMs: 25 },
  shareBeside: { atOnce: 1, everyMs: 50 },
  yieldMs: 150,
};

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
      maxInFlight: options.maxWritesInFlight ?? DEFAULT_WRITES_IN_FLIGHT,
      ofGroup: WRITES_OF_ONE_TENANT,
    }),
    observer: options.observer,
  });
  return new RestClient(executor);
}
