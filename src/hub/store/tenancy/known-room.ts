/** Assumed maximum number of creations of a tenant in a millisecond, by all processes together. */
const MAX_PER_MS = 10;
/** If a tenant may create fewer objects than this, each creation is counted. */
const MIN_ROOM = 1000;
const MAX_TENANTS = 10_000;

/**
 * Remembers tenants that are far from a limit, so that a creation does not have to count their objects. Other processes
 * create objects too, so a tenant is remembered only for the time in which all processes could use up its room
 * (docs/decisions/0045).
 */
export class KnownRoom {
  /** By tenant, in the order of their counts. */
  readonly #until = new Map<string, number>();
  readonly #now: () => number;

  /** @param now monotonic time in milliseconds */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** Whether the tenant may create another object without a count. */
  has(tenantId: string): boolean {
    return this.#now() < (this.#until.get(tenantId) ?? Number.NEGATIVE_INFINITY);
  }

  /** @param room how many objects the tenant may still create, according to a count */
  note(tenantId: string, room: number): void {
    this.#until.delete(tenantId);
    if (room < MIN_ROOM) return;
    this.#until.set(tenantId, this.#now() + room / MAX_PER_MS);
    const [oldest] = this.#until.keys();
    if (this.#until.size > MAX_TENANTS && oldest !== undefined) this.#until.delete(oldest);
  }
}
