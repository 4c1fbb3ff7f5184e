/** Tenants that surely have room for more of something, for a while, so that it is not counted anew for each. */

/** More than all processes together make for one tenant in a millisecond: a commit alone takes about as long. */
const MOST_A_MS = 10;
/** With less room than for so many everything is counted. */
const LEAST_ROOM = 1000;
const MOST_TENANTS = 10_000;

/** In the memory of one process: others make things meanwhile, which is why it holds for no longer than they need to fill it. */
export class KnownRoom {
  /** By tenant, the one that was counted longest ago first. */
  readonly #until = new Map<string, number>();
  readonly #now: () => number;

  /** @param now in milliseconds, from whenever */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** Whether one more surely fits, as far as is known. */
  has(tenantId: string): boolean {
    return this.#now() < (this.#until.get(tenantId) ?? Number.NEGATIVE_INFINITY);
  }

  /** @param room for how many there was when it was counted just now */
  note(tenantId: string, room: number): void {
    this.#until.delete(tenantId);
    if (room < LEAST_ROOM) return;
    this.#until.set(tenantId, this.#now() + room / MOST_A_MS);
    const [oldest] = this.#until.keys();
    if (this.#until.size > MOST_TENANTS && oldest !== undefined) this.#until.delete(oldest);
  }
}
