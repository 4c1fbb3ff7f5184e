import { type LogRequest, MAX_LOG_REQUESTS } from '../../../contract/protocol/log-protocol.ts';
import type { ObjectRequest } from '../../../contract/protocol/object-protocol.ts';
import { FairLimiter } from '../../../domain/scheduling/fair-limiter.ts';
import type { KubeClient } from '../../kube/client/client.ts';

/**
 * Limits what readers of logs and objects cost. Their lists use the connection of the listener's own work and of the probe of
 * the cluster, and an API server serves about 100 calls of a connection at the same time. Tenants take turns.
 */

/** Concurrent lists. A map needs up to 15 lists. */
const LISTS = { total: 10, perTenant: 5 };
/** Requests that are served or wait for their lists. The hub also limits readers, but other versions of the hub may not. */
const REQUESTS = { total: 2 * MAX_LOG_REQUESTS, perTenant: MAX_LOG_REQUESTS };

/** The calls of which only some run at the same time. */
export type ReaderClient = Pick<KubeClient, 'list' | 'listAll'>;

/** The tenant of a request. An earlier hub does not name it; then its namespace, which no other tenant has in `cloud`. */
const tenantOf = ({ tenant_id: tenantId, namespace }: Pick<LogRequest, 'tenant_id' | 'namespace'>) =>
  tenantId ?? namespace;

export class ReaderLimits {
  readonly #lists = new FairLimiter(LISTS);
  readonly #requests = { logs: new FairLimiter(REQUESTS), objects: new FairLimiter(REQUESTS) };

  /** Takes a place for a request. @returns a function that returns the place; null: too many requests are being served */
  enter(kind: 'logs' | 'objects', request: LogRequest | ObjectRequest): (() => void) | null {
    const [limiter, tenant] = [this.#requests[kind], tenantOf(request)];
    return limiter.tryAcquire(tenant) ? () => limiter.release(tenant) : null;
  }

  /** The client for a request. A list that waits for its turn rejects with the reason of its signal when this fires. */
  client(client: ReaderClient, request: LogRequest | ObjectRequest): ReaderClient {
    const inTurn = <T>(call: () => Promise<T>, signal: AbortSignal | undefined) =>
      this.#lists.run(tenantOf(request), call, signal);
    return {
      list: (resource, options) => inTurn(() => client.list(resource, options), options?.signal),
      listAll: (resource, options) => inTurn(() => client.listAll(resource, options), options?.signal),
    };
  }
}
