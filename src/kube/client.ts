import { loadClusterAccess } from './access/cluster-access.ts';
import type { KubeClient, KubeClientOptions } from './client-types.ts';
import { HttpExecutor } from './http-executor.ts';
import { Limiter } from './limiter.ts';
import { RestClient } from './rest-client.ts';
import { createTransport } from './transport/negotiate.ts';

export type * from './client-types.ts';

const DEFAULT_WRITES_IN_FLIGHT = 16;
/** Of one tenant: half. A server that has no more processor to give is as busy with so few, and answers each the sooner. */
const WRITES_OF_ONE_TENANT = 8;
/** While another tenant is at work. Two tenants fill two processors with it (docs/decisions/0048). */
const WRITES_BESIDE_ANOTHER = 2;

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
      maxOfGroup: WRITES_OF_ONE_TENANT,
      maxBeside: WRITES_BESIDE_ANOTHER,
    }),
    observer: options.observer,
  });
  return new RestClient(executor);
}
