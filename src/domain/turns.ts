/** A group that had a place so recently is at work: between two steps of one thing, which take a moment, nobody has one. */
const AT_WORK_MS = 500;

/** What is on behalf of nobody: no other group has less for its sake, and it has no less for theirs. */
export const NOBODY = '';

export interface TurnsOptions {
  /** Places in all. */
  readonly max: number;
  /** Of one group; default: as many. */
  readonly maxOfGroup?: number;
  /**
   * Of one group while another one is at work; default: as many as else. What is shared answers each the later the more are
   * under way: so a group with much to do leaves another one's few things nearly as quick as they are alone.
   */
  readonly maxBeside?: number;
  /** Milliseconds of a clock that never goes back. */
  readonly now?: () => number;
  /** Places are given only while it holds; `open` after it holds again. */
  readonly isOpen?: () => boolean;
}

/**
 * Places for a bounded number of things at once. Of those that wait the groups (tenants) take turns, and within a group
 * they go in order of arrival: a thousand of one group delay another one's by a turn, not by all of them.
 */
export class Turns {
  readonly #max: number;
  readonly #maxOfGroup: number;
  readonly #maxBeside: number;
  readonly #now: () => number;
  readonly #isOpen: () => boolean;
  /** By group, in the order of their turns; none is empty. */
  readonly #waiting = new Map<string, Set<() => void>>();
  #taken = 0;
  /** Of them, by group; none is 0. */
  readonly #byGroup = new Map<string, number>();
  /** When each group at work asked for a place or gave one back last: the longest ago first. Some may be at work no more. */
  readonly #seenAt = new Map<string, number>();

  constructor({
    max,
    maxOfGroup = max,
    maxBeside = maxOfGroup,
    now = performance.now.bind(performance),
    isOpen = () => true,
  }: TurnsOptions) {
    this.#max = max;
    this.#maxOfGroup = maxOfGroup;
    this.#maxBeside = maxBeside;
    this.#now = now;
    this.#isOpen = isOpen;
  }

  /** Places that are taken. */
  get taken(): number {
    return this.#taken;
  }

  /** How many wait for one. */
  get waiting(): number {
    let sum = 0;
    for (const each of this.#waiting.values()) sum += each.size;
    return sum;
  }

  /**
   * Calls `begin` once, when there is a place: at once, or later. The place is the group's until `leave`.
   * @returns ends the wait: `begin` is not called any more. Nothing, once it was called.
   */
  take(group: string, begin: () => void): () => void {
    this.#see(group);
    const own = this.#waiting.get(group);
    if (own === undefined) this.#waiting.set(group, new Set([begin]));
    else own.add(begin);
    this.open();
    return () => {
      const left = this.#waiting.get(group);
      left?.delete(begin);
      if (left?.size === 0) this.#waiting.delete(group);
    };
  }

  /** Gives back a place that was taken. */
  leave(group: string): void {
    this.#see(group);
    this.#count(group, -1);
    this.open();
  }

  /** Gives the places that there are to those that wait. */
  open(): void {
    while (this.#waiting.size > 0 && this.#taken < this.#max && this.#isOpen()) {
      const begin = this.#next();
      if (begin === undefined) return;
      begin();
    }
  }

  /** Of the group whose turn it is, which goes to the end of the line, if it has more. */
  #next(): (() => void) | undefined {
    this.#forget();
    for (const [group, own] of this.#waiting) {
      if ((this.#byGroup.get(group) ?? 0) >= this.#limitOf(group)) continue;
      this.#waiting.delete(group);
      for (const begin of own) {
        own.delete(begin);
        if (own.size > 0) this.#waiting.set(group, own);
        this.#count(group, 1);
        return begin;
      }
    }
    return undefined;
  }

  #limitOf(group: string): number {
    if (group === NOBODY) return this.#maxOfGroup;
    const others = this.#seenAt.size - (this.#seenAt.has(group) ? 1 : 0);
    return others > 0 ? this.#maxBeside : this.#maxOfGroup;
  }

  #see(group: string): void {
    if (group === NOBODY) return;
    this.#seenAt.delete(group);
    this.#seenAt.set(group, this.#now());
  }

  /** Groups that are at work no more. */
  #forget(): void {
    const since = this.#now() - AT_WORK_MS;
    for (const [group, at] of this.#seenAt) {
      if (at > since) return;
      if (!this.#byGroup.has(group) && !this.#waiting.has(group)) this.#seenAt.delete(group);
    }
  }

  #count(group: string, change: 1 | -1): void {
    this.#taken += change;
    const left = (this.#byGroup.get(group) ?? 0) + change;
    if (left === 0) this.#byGroup.delete(group);
    else this.#byGroup.set(group, left);
  }
}
