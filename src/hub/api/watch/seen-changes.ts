/** Remembers which changes were sent in the last moments, so that the sweep does not send them again. Pure. */

/** Number of changes of one period. Further changes are sent twice, which is harmless. */
const MAX_REMEMBERED = 20_000;

export class SeenChanges {
  #current = new Set<string>();
  #previous = new Set<string>();

  /** Adds a change. @returns whether it is new */
  add(key: string): boolean {
    if (this.#current.has(key) || this.#previous.has(key)) return false;
    if (this.#current.size < MAX_REMEMBERED) this.#current.add(key);
    return true;
  }

  /** Begins the next period. Changes of the period before the current one are forgotten. */
  advance(): void {
    this.#previous = this.#current;
    this.#current = new Set();
  }

  clear(): void {
    this.#current.clear();
    this.#previous.clear();
  }
}
