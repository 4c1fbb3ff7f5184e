/**
 * A group that asked for a place or had one so recently is at work. Longer than a moment: whoever does one thing after the
 * other finds the room that was made for the one before.
 */
const AT_WORK_MS = 10_000;
/** It is noted no more often. */
const SEEN_EVERY_MS = 20;

/** Which groups (tenants) are at work. Times in milliseconds, by a monotonic clock. */
export class AtWork {
  readonly #isKept: (name: string) => boolean;
  /** When each group at work was seen last: the longest ago first. Some may be at work no more. */
  readonly #seenAt = new Map<string, number>();

  /** @param isKept whether a group has something to do still: it is at work, however long ago it was seen */
  constructor(isKept: (name: string) => boolean) {
    this.#isKept = isKept;
  }

  /** The group asked for a place or gave one back. */
  see(name: string, now: number): void {
    const before = this.#seenAt.get(name);
    if (before !== undefined && now - before < SEEN_EVERY_MS) return;
    this.#seenAt.delete(name);
    this.#seenAt.set(name, now);
    this.#forget(now);
  }

  isBesideAnother(name: string, now: number): boolean {
    this.#forget(now);
    return this.#seenAt.size > (this.#seenAt.has(name) ? 1 : 0);
  }

  /** Groups that are at work no more. */
  #forget(now: number): void {
    for (const [name, at] of this.#seenAt) {
      if (at > now - AT_WORK_MS) return;
      if (!this.#isKept(name)) this.#seenAt.delete(name);
    }
  }
}
