/** A group that had a place so recently is at work: between two steps of one thing, which take a moment, nobody has one. */
const AT_WORK_MS = 500;

/** What is on behalf of nobody: no other group has less for its sake, and it has no less for theirs. */
export const NOBODY = '';

/** How many places a group may take. */
export interface Share {
  readonly atOnce: number;
  /** Beyond these it takes one more whenever so long none was taken, in milliseconds; absent: none. */
  readonly everyMs?: number;
}

export interface TurnsOptions {
  /** Places in all. */
  readonly max: number;
  /** Most of one group, however long each is held; default: as many. */
  readonly maxOfGroup?: number;
  /**
   * Of one group. What is shared answers each the later, the more are under way, and from some number on does no more for
   * it: with few, there is room for what another group begins. Whatever takes its time without being busy is not kept
   * waiting for by `everyMs`. Default: `maxOfGroup`.
   */
  readonly share?: Share;
  /** The same, while another group is at work; default: as else. */
  readonly shareBeside?: Share;
  readonly clock?: TurnsClock;
  /** Places are given only while it holds; `open` after it holds again. */
  readonly isOpen?: () => boolean;
}

export interface TurnsClock {
  /** Milliseconds of a clock that never goes back. */
  now(): number;
  /** @returns cancels it */
  after(ms: number, task: () => void): () => void;
}

const CLOCK: TurnsClock = {
  now: performance.now.bind(performance),
  after(ms, task) {
    const timer = setTimeout(task, ms);
    return () => clearTimeout(timer);
  },
};

/**
 * Places for a bounded number of things at once. Of those that wait the groups (tenants) take turns, and within a group
 * they go in order of arrival: a thousand of one group delay another one's by a turn, not by all of them.
 */
export class Turns {
  readonly #max: number;
  readonly #maxOfGroup: number;
  readonly #share: Share;
  readonly #shareBeside: Share;
  readonly #clock: TurnsClock;
  readonly #isOpen: () => boolean;
  /** By group, in the order of their turns; none is empty. */
  readonly #waiting = new Map<string, Set<() => void>>();
  #taken = 0;
  /** Of them, by group, and when the last of each was taken; none is 0. */
  readonly #byGroup = new Map<string, { taken: number; lastAt: number }>();
  /** When each group at work asked for a place or gave one back last: the longest ago first. Some may be at work no more. */
  readonly #seenAt = new Map<string, number>();
  /** Opens when the next group may take one more. */
  #timer: { at: number; cancel: () => void } | undefined;

  constructor({
    max,
    maxOfGroup = max,
    share = { atOnce: maxOfGroup },
    shareBeside = share,
    clock = CLOCK,
    isOpen = () => true,
  }: TurnsOptions) {
    this.#max = max;
    this.#maxOfGroup = maxOfGroup;
    this.#share = share;
    this.#shareBeside = shareBeside;
    this.#clock = clock;
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
    let soonestMs = Number.POSITIVE_INFINITY;
    for (const [group, own] of this.#waiting) {
      const waitMs = this.#waitOf(group);
      soonestMs = Math.min(soonestMs, waitMs);
      if (waitMs > 0) continue;
      this.#waiting.delete(group);
      for (const begin of own) {
        own.delete(begin);
        if (own.size > 0) this.#waiting.set(group, own);
        this.#count(group, 1);
        return begin;
      }
    }
    this.#openAfter(soonestMs);
    return undefined;
  }

  /** Until a group may take one more; infinite: when it has left one. */
  #waitOf(group: string): number {
    const { taken, lastAt } = this.#byGroup.get(group) ?? { taken: 0, lastAt: 0 };
    if (taken >= this.#maxOfGroup) return Number.POSITIVE_INFINITY;
    if (group === NOBODY) return 0;
    const others = this.#seenAt.size - (this.#seenAt.has(group) ? 1 : 0);
    const { atOnce, everyMs = Number.POSITIVE_INFINITY } = others > 0 ? this.#shareBeside : this.#share;
    return taken < atOnce ? 0 : Math.max(0, lastAt + everyMs - this.#clock.now());
  }

  #openAfter(ms: number): void {
    const at = this.#clock.now() + ms;
    if (!Number.isFinite(ms) || (this.#timer !== undefined && this.#timer.at <= at)) return;
    this.#timer?.cancel();
    const cancel = this.#clock.after(Math.ceil(ms), () => {
      this.#timer = undefined;
      this.open();
    });
    this.#timer = { at, cancel };
  }

  #see(group: string): void {
    if (group === NOBODY) return;
    this.#seenAt.delete(group);
    this.#seenAt.set(group, this.#clock.now());
  }

  /** Groups that are at work no more. */
  #forget(): void {
    const since = this.#clock.now() - AT_WORK_MS;
    for (const [group, at] of this.#seenAt) {
      if (at > since) return;
      if (!this.#byGroup.has(group) && !this.#waiting.has(group)) this.#seenAt.delete(group);
    }
  }

  #count(group: string, change: 1 | -1): void {
    this.#taken += change;
    const { taken, lastAt } = this.#byGroup.get(group) ?? { taken: 0, lastAt: 0 };
    if (taken + change === 0) this.#byGroup.delete(group);
    else this.#byGroup.set(group, { taken: taken + change, lastAt: change > 0 ? this.#clock.now() : lastAt });
  }
}
