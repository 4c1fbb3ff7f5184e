/**
 * Announces the tenants with streams, one announcement at a time. Many streams can open together, for example after a restart of
 * the hub, and share one announcement.
 */
export class WatchedTenants {
  readonly #announce: (tenantIds: readonly string[]) => Promise<void>;
  readonly #watched: () => readonly string[];
  #announced: ReadonlySet<string> = new Set();
  #running: Promise<void> = Promise.resolve();
  /** The announcement that has not begun. */
  #next: Promise<void> | null = null;

  /** @param watched the tenants that have streams now */
  constructor(announce: (tenantIds: readonly string[]) => Promise<void>, watched: () => readonly string[]) {
    this.#announce = announce;
    this.#watched = watched;
  }

  /** Resolves when a tenant with a stream is announced. @throws StoreError */
  async add(tenantId: string): Promise<void> {
    if (!this.#announced.has(tenantId)) await this.renew();
  }

  /** Announces exactly the tenants that have streams. @throws StoreError */
  renew(): Promise<void> {
    this.#next ??= this.#running
      .catch(() => undefined)
      .then(() => {
        this.#next = null;
        this.#running = this.#run();
        return this.#running;
      });
    return this.#next;
  }

  /** Called when no streams are left: the announcement expires. */
  forget(): void {
    this.#announced = new Set();
  }

  async #run(): Promise<void> {
    const watched = this.#watched();
    // A tenant that this announcement removes must be announced again when it gets a stream meanwhile.
    this.#announced = new Set(watched.filter((tenantId) => this.#announced.has(tenantId)));
    try {
      await this.#announce(watched);
      this.#announced = new Set(watched);
    } catch (error) {
      this.forget();
      throw error;
    }
  }
}
