import { Turns } from '../../../domain/scheduling/turns.ts';
import { StoreUnavailable } from './errors.ts';

/**
 * The maximum share of the connections for one tenant. In a pool of fewer than five connections, a tenant may use all.
 */
const SHARE_OF_ONE_TENANT = 0.8;
/**
 * The maximum for a busy tenant while another tenant is active, because tenants also share the CPU of this process
 * (docs/decisions/0048).
 */
const CONNECTIONS_BESIDE_ANOTHER = { atOnce: 1, everyMs: 10 };

export interface ConnectionPlacesOptions {
  /** Number of connections of the pool. */
  readonly poolSize: number;
  /** Maximum wait for a connection, in milliseconds. */
  readonly waitMs: number;
}

/**
 * Decides which tenant gets the next connection of the pool. The pool itself serves in the order of arrival. A tenant
 * with a hundred requests would get all connections, and listeners and other tenants would wait for a hundred
 * transactions.
 */
export class ConnectionPlaces {
  readonly #turns: Turns;
  readonly #waitMs: number;

  constructor({ poolSize, waitMs }: ConnectionPlacesOptions) {
    this.#waitMs = waitMs;
    const maxOfGroup = Math.ceil(poolSize * SHARE_OF_ONE_TENANT);
    this.#turns = new Turns({
      max: poolSize,
      maxOfGroup,
      shareBeside: CONNECTIONS_BESIDE_ANOTHER,
    });
  }

  /** Number of waiting callers. */
  get waiting(): number {
    return this.#turns.waiting;
  }

  /**
   * Waits until the tenant may take a connection. The tenant returns the connection with `leave`. The result is a
   * promise only if a wait is needed, because each request calls this.
   * @param group a tenant, or the platform
   * @throws StoreUnavailable when the wait is too long
   */
  enter(group: string): void | Promise<void> {
    let isIn = false;
    let begin = () => {
      isIn = true;
    };
    const giveUp = this.#turns.take(group, () => begin());
    if (isIn) return;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        giveUp();
        reject(new StoreUnavailable('all connections are in use', 'usable'));
      }, this.#waitMs);
      begin = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  leave(group: string): void {
    this.#turns.leave(group);
  }
}
