import { Turns } from '../../../domain/scheduling/turns.ts';
import { StoreUnavailable } from './errors.ts';

/** Of the connections one tenant has at most so many, in parts of all; of fewer than five it may have each. */
const SHARE_OF_ONE_TENANT = 0.8;
/** Of one with much to do, while another one is at work: they share the processor of this process too (docs/decisions/0048). */
const CONNECTIONS_BESIDE_ANOTHER = { atOnce: 1, everyMs: 10 };

export interface ConnectionPlacesOptions {
  /** Connections of the pool. */
  readonly poolSize: number;
  /** Longest wait for one that others have, in milliseconds. */
  readonly waitMs: number;
}

/**
 * Who may have a connection of the pool next: the pool itself would go by the order of arrival, so that a tenant with a
 * hundred requests had all of them, and a listener or another tenant waited for a hundred transactions.
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

  /** How many wait for one. */
  get waiting(): number {
    return this.#turns.waiting;
  }

  /**
   * When it answers, or what it answers resolves, the tenant may have one, which it gives back by `leave`. A promise only
   * where there is something to wait for: each request comes here.
   * @param group a tenant; NOBODY: the platform
   * @throws StoreUnavailable when it takes too long
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
