import { loadClusterAccess } from '../access/cluster-access.ts';
import { HttpExecutor } from '../transport/http-executor.ts';
import { Limiter } from '../transport/limiter.ts';
import { createTransport } from '../transport/negotiate.ts';
import type { KubeClient, KubeClientOptions } from './client-types.ts';
import { RestClient } from './rest-client.ts';

export type * from './client-types.ts';

const DEFAULT_WRITES_IN_FLIGHT = 16;
/**
 * Of one tenant. With two under way, a server on two processors is as busy as with sixteen, and answers another tenant's
 * sooner; those of one with little to do go first. A server that takes its time without being busy (admission webhooks) gets
 * up to 8, 40 a second, all the same (docs/decisions/0048).
 */
const WRITES_OF_ONE_TENANT = {
  maxOfGroup: 8,
  share: { atOnce: 2, everyMs: 25 },
  shareBeside: { atOnce: 1, everyMs: 50 },
  yieldMs: 150,
};

/**
 * A client for the cluster that the options name. Reads the kubeconfig (or the pod's service account) now and fails
 * with what is wrong in it; connects with the first call.
 */
export async function createKubeClient(options: KubeClientOptions): Promise<KubeClient> {
  const access = await loadClusterAccess(options);
  const transport = createTransport({
    server: access.server,
    tls: () => access.tls(),
    protocol: options.protocol ?? 'auto',
    pingIntervalMs: options.pingIntervalMs,
    pingTimeoutMs: options.pingTimeoutMs,
  });
  const executor = new HttpExecutor({
    access,
    transport,
    userAgent: options.userAgent,
    timeoutMs: options.requestTimeoutMs,
    writes: new Limiter({
      maxInFlight: options.maxWritesInFlight ?? DEFAULT_WRITES_IN_FLIGHT,
      ofGroup: WRITES_OF_ONE_TENANT,
    }),
    observer: options.observer,
  });
  return new RestClient(executor);
}
