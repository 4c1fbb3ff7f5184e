import { FairLimiter } from '../../../domain/scheduling/fair-limiter.ts';
import { StoreUnavailable } from './errors.ts';

/**
 * Maximum share of the connections for one tenant (docs/decisions/0048). In a pool of fewer than five connections, a
 * tenant may use all.
 */
const SHARE_OF_ONE_TENANT = 0.8;

export interface ConnectionLimiterOptions {
  /** Number of connections of the pool. */
  readonly poolSize: number;
  /** Maximum wait for a connection, in milliseconds. */
  readonly waitMs: number;
}

/**
 * Decides which tenant gets the next connection of the pool. The pool itself serves in the order of arrival, so a tenant
 * with a hundred requests would get all connections, and listeners and other tenants would wait for a hundred
 * transactions. Each group of work of the platform counts as one tenant.
 */
export class ConnectionLimiter {
  readonly #limiter: FairLimiter;
  readonly #waitMs: number;

  constructor({ poolSize, waitMs }: ConnectionLimiterOptions) {
    this.#waitMs = waitMs;
    this.#limiter = new FairLimiter({
      total: poolSize,
      perTenant: Math.ceil(poolSize * SHARE_OF_ONE_TENANT),
    });
  }

  /** Number of waiting callers. */
  get waiting(): number {
    return this.#limiter.waiting;
  }

  /**
   * Runs `task` when the tenant may take a connection.
   * @throws StoreUnavailable when the wait is too long
   */
  async run<T>(tenant: string, task: () => Promise<T>): Promise<T> {
    if (!this.#limiter.tryAcquire(tenant)) await this.#place(tenant);
    try {
      return await task();
    } finally {
      this.#limiter.release(tenant);
    }
  }

  /** Waits for a place. Most tasks need no wait, and so no timer. */
  #place(tenant: string): Promise<void> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        cancel();
        reject(new StoreUnavailable('all connections are in use', 'usable'));
      }, this.#waitMs);
      const cancel = this.#limiter.acquire(tenant, () => {
        clearTimeout(timer);
        resolve();
      });
    });
  }
}
