/**
 * A group that asked for a place or had one so recently is at work. Longer than a moment: whoever does one thing after the
 * other finds the room that was made for the one before.
 */
const AT_WORK_MS = 10_000;
/** It is noted no more often. */
const SEEN_EVERY_MS = 20;

/** Which groups (tenants) are at work, and since when they have much to do. Times in milliseconds, by a monotonic clock. */
export class AtWork {
  readonly #isKept: (name: string) => boolean;
  /** When each group at work was seen last: the longest ago first. Some may be at work no more. */
  readonly #seenAt = new Map<string, number>();
  /** Of those that had much to do: since when, and when last. */
  readonly #much = new Map<string, { readonly since: number; until: number }>();

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

  /**
   * For how long a group has had much to do, which it has now. Breaks are part of it, as long as such in which a group is
   * at work still.
   * @param since when the group's last break was over
   */
  muchFor(name: string, since: number, now: number): number {
    const known = this.#much.get(name);
    if (known === undefined || (now - known.until >= AT_WORK_MS && since > known.until)) {
      this.#much.set(name, { since: now, until: now });
      return 0;
    }
    known.until = now;
    return now - known.since;
  }

  /** Groups that are at work no more. */
  #forget(now: number): void {
    for (const [name, at] of this.#seenAt) {
      if (at > now - AT_WORK_MS) return;
      if (this.#isKept(name)) continue;
      this.#seenAt.delete(name);
      this.#much.delete(name);
    }
  }
}
