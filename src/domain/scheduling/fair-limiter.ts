/** For tasks that belong to no tenant. */
export const NO_TENANT = '';

export interface FairLimits {
  /** Maximum number of running tasks. */
  readonly total: number;
  /** Maximum number of running tasks of one tenant; default: `total`. */
  readonly perTenant?: number;
  /** Whether tasks may start now. Call `startWaiting` when this changes to true. Default: always. */
  readonly isOpen?: () => boolean;
}

/** A tenant with running or waiting tasks. */
interface Tenant {
  running: number;
  /** In order of arrival. */
  readonly waiting: Set<() => void>;
}

const alreadyStarted = () => undefined;

/**
 * Limits the number of concurrent tasks, in total and for each tenant. Tenants below their limit take turns (round
 * robin), and the tasks of a tenant start in order of arrival. Therefore a thousand tasks of one tenant delay the task
 * of another tenant by one turn.
 */
export class FairLimiter {
  readonly #limits: Required<FairLimits>;
  /** By name, in the order of their turns. */
  readonly #tenants = new Map<string, Tenant>();
  #running = 0;
  #waiting = 0;

  constructor({ total, perTenant = total, isOpen = () => true }: FairLimits) {
    this.#limits = { total, perTenant, isOpen };
  }

  get running(): number {
    return this.#running;
  }

  get waiting(): number {
    return this.#waiting;
  }

  /** Number of running tasks of one tenant. */
  runningOf(name: string): number {
    return this.#tenants.get(name)?.running ?? 0;
  }

  /** Number of waiting tasks of one tenant. */
  waitingOf(name: string): number {
    return this.#tenants.get(name)?.waiting.size ?? 0;
  }

  /** Takes a place for a task that starts now. @returns false when the task must wait (see `acquire`) */
  tryAcquire(name: string): boolean {
    const tenant = this.#tenantOf(name);
    if (tenant.waiting.size > 0 || !this.#hasPlace() || !this.#mayStart(tenant)) return false;
    this.#begin(name, tenant);
    return true;
  }

  /**
   * Calls `start` once: immediately, or when a place is free. The task keeps its place until `release`.
   * @returns cancels the wait; has no effect after the start
   */
  acquire(name: string, start: () => void): () => void {
    // The common case without a wait costs little, because each request needs several places.
    if (this.tryAcquire(name)) {
      start();
      return alreadyStarted;
    }
    const tenant = this.#tenantOf(name);
    this.#tenants.set(name, tenant);
    tenant.waiting.add(start);
    this.#waiting += 1;
    return () => {
      if (!tenant.waiting.delete(start)) return;
      this.#waiting -= 1;
      this.#forgetIdle(name, tenant);
      this.startWaiting();
    };
  }

  /** Returns the place of a task. */
  release(name: string): void {
    const tenant = this.#tenants.get(name);
    if (tenant === undefined) return;
    tenant.running -= 1;
    this.#running -= 1;
    this.#forgetIdle(name, tenant);
    this.startWaiting();
  }

  /**
   * Runs the task when it has a place.
   * @throws the signal's reason if it aborts during the wait
   */
  async run<T>(name: string, task: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    await this.#place(name, signal);
    try {
      return await task();
    } finally {
      this.release(name);
    }
  }

  /** Starts as many waiting tasks as there are places for. */
  startWaiting(): void {
    while (this.#waiting > 0 && this.#hasPlace()) {
      const start = this.#next();
      if (start === undefined) return;
      start();
    }
  }

  #place(name: string, signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const abort = () => {
        cancel();
        reject(signal?.reason);
      };
      signal?.addEventListener('abort', abort, { once: true });
      const cancel = this.acquire(name, () => {
        signal?.removeEventListener('abort', abort);
        resolve();
      });
    });
  }

  /** The next task of the first tenant, in the order of turns, that is below its limit. */
  #next(): (() => void) | undefined {
    for (const [name, tenant] of this.#tenants) {
      const [start] = tenant.waiting;
      if (start === undefined || !this.#mayStart(tenant)) continue;
      tenant.waiting.delete(start);
      this.#waiting -= 1;
      this.#begin(name, tenant);
      return start;
    }
    return undefined;
  }

  #tenantOf(name: string): Tenant {
    return this.#tenants.get(name) ?? { running: 0, waiting: new Set() };
  }

  #hasPlace(): boolean {
    return this.#running < this.#limits.total && this.#limits.isOpen();
  }

  #mayStart({ running }: Tenant): boolean {
    return running < this.#limits.perTenant;
  }

  /** The tenant moves to the end of the turns. */
  #begin(name: string, tenant: Tenant): void {
    tenant.running += 1;
    this.#running += 1;
    this.#tenants.delete(name);
    this.#tenants.set(name, tenant);
  }

  #forgetIdle(name: string, tenant: Tenant): void {
    if (tenant.running === 0 && tenant.waiting.size === 0) this.#tenants.delete(name);
  }
}
