import { type MonotonicClock, monotonicClock } from '../core/monotonic-clock.ts';
import { AtWork } from './at-work.ts';

/**
 * A group that had something to do without a break for so long, and has taken as many places meanwhile as it may have at once,
 * has much to do: the steps of a single thing have breaks, or are few where each takes long.
 */
const MUCH_AFTER_MS = 250;

/** Name for tasks without a group. Such tasks have no share, and do not count as a group of their own. */
export const NO_GROUP = '';

/** How many places a group may take that has much to do. */
export interface Share {
  readonly atOnce: number;
  /** Beyond these it takes one more whenever so long none was taken, in milliseconds; absent: none. */
  readonly everyMs?: number;
}

export interface TurnsOptions {
  /** Places in all. */
  readonly max: number;
  /** Most of one group; default: as many. */
  readonly maxOfGroup?: number;
  /**
   * Of a group that has much to do. What is shared answers each the later, the more are under way, and from some number on
   * does no more for it: with few, what another group begins finds it free. `everyMs` is for what takes its time without
   * being busy. Default: `maxOfGroup`.
   */
  readonly share?: Share;
  /** The same, while another group is at work; default: as else. */
  readonly shareBeside?: Share;
  /**
   * For so long after one with little to do asked for a place or gave one back, those with much to do begin nothing but what
   * `everyMs` of their share lets them: the pauses between its steps. In milliseconds; default: 0.
   */
  readonly yieldMs?: number;
  readonly clock?: MonotonicClock;
  /** Places are given only while it holds; `open` after it holds again. */
  readonly isOpen?: () => boolean;
}

const nothing = () => undefined;

/** A group with something to do. */
interface Group {
  /** Since when without a break. */
  readonly since: number;
  /** Places that it has taken since then. */
  begun: number;
  /** In order of arrival. */
  readonly waiting: Set<() => void>;
  taken: number;
  lastTakenAt: number;
}

/**
 * Places for a bounded number of things at once. Of those that wait the groups (tenants) take turns, and within a group
 * they go in order of arrival: a thousand of one group delay another one's by a turn, not by all of them.
 */
export class Turns {
  readonly #max: number;
  readonly #maxOfGroup: number;
  readonly #share: Share;
  readonly #shareBeside: Share;
  readonly #yieldMs: number;
  readonly #clock: MonotonicClock;
  readonly #isOpen: () => boolean;
  /** By name, in the order of their turns. */
  readonly #groups = new Map<string, Group>();
  #taken = 0;
  /** The last one with little to do that asked for a place or gave one back. */
  #lastLittle = { name: NO_GROUP, at: Number.NEGATIVE_INFINITY };
  readonly #atWork = new AtWork((name) => this.#groups.has(name));
  /** Opens when the next group may take one more. */
  #timer: { at: number; cancel: () => void } | undefined;

  constructor({
    max,
    maxOfGroup = max,
    share = { atOnce: maxOfGroup },
    shareBeside = share,
    yieldMs = 0,
    clock = monotonicClock,
    isOpen = () => true,
  }: TurnsOptions) {
    this.#max = max;
    this.#maxOfGroup = maxOfGroup;
    this.#share = share;
    this.#shareBeside = shareBeside;
    this.#yieldMs = yieldMs;
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
    for (const { waiting } of this.#groups.values()) sum += waiting.size;
    return sum;
  }

  /**
   * Calls `begin` once, when there is a place: at once, or later. The place is the group's until `leave`.
   * @returns ends the wait: `begin` is not called any more. Nothing, once it was called.
   */
  take(name: string, begin: () => void): () => void {
    const group = this.#groupOf(name);
    this.#see(name, group);
    // Mostly nothing waits, and then this costs next to nothing: each request takes several places.
    if (group.waiting.size === 0 && this.#hasPlace() && this.#waitOf(name, group) === 0) {
      this.#give(name, group);
      begin();
      return nothing;
    }
    group.waiting.add(begin);
    this.open();
    return () => {
      group.waiting.delete(begin);
      this.#tidy(name, group);
    };
  }

  /** Gives back a place that was taken. */
  leave(name: string): void {
    const group = this.#groupOf(name);
    this.#see(name, group);
    group.taken -= 1;
    this.#taken -= 1;
    this.#tidy(name, group);
    this.open();
  }

  /** Gives the places that there are to those that wait. */
  open(): void {
    while (this.#hasPlace()) {
      const begin = this.#next();
      if (begin === undefined) return;
      begin();
    }
  }

  /** Of the group whose turn it is, which goes to the end of the line. */
  #next(): (() => void) | undefined {
    let soonestMs = Number.POSITIVE_INFINITY;
    for (const [name, group] of this.#groups) {
      const [begin] = group.waiting;
      if (begin === undefined) continue;
      const waitMs = this.#waitOf(name, group);
      soonestMs = Math.min(soonestMs, waitMs);
      if (waitMs > 0) continue;
      group.waiting.delete(begin);
      this.#give(name, group);
      return begin;
    }
    this.#openAfter(soonestMs);
    return undefined;
  }

  #hasPlace(): boolean {
    return this.#taken < this.#max && this.#isOpen();
  }

  #give(name: string, group: Group): void {
    group.taken += 1;
    group.begun += 1;
    group.lastTakenAt = this.#clock.now();
    this.#taken += 1;
    if (group.waiting.size === 0) return;
    this.#groups.delete(name);
    this.#groups.set(name, group);
  }

  /** Until a group may take one more; infinite: when it has left one. */
  #waitOf(name: string, group: Group): number {
    const { taken, lastTakenAt } = group;
    if (taken >= this.#maxOfGroup) return Number.POSITIVE_INFINITY;
    const now = this.#clock.now();
    if (name === NO_GROUP || !this.#hasMuch(group, now)) return 0;
    const share = this.#atWork.isBesideAnother(name, now) ? this.#shareBeside : this.#share;
    const next = Math.max(0, lastTakenAt + (share.everyMs ?? Number.POSITIVE_INFINITY) - now);
    const yields = this.#yieldsFor(name, now);
    if (yields > 0) return Math.min(next, yields);
    return taken < share.atOnce ? 0 : next;
  }

  #hasMuch({ since, begun }: Group, now: number): boolean {
    return now - since >= MUCH_AFTER_MS && begun >= this.#maxOfGroup;
  }

  /** How long a group with much to do lets another one go first. */
  #yieldsFor(name: string, now: number): number {
    if (this.#lastLittle.name === name) return 0;
    return Math.max(0, this.#lastLittle.at + this.#yieldMs - now);
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

  #groupOf(name: string): Group {
    const known = this.#groups.get(name);
    if (known !== undefined) return known;
    const group: Group = { since: this.#clock.now(), begun: 0, waiting: new Set(), taken: 0, lastTakenAt: 0 };
    this.#groups.set(name, group);
    return group;
  }

  /** A group with nothing to do is not kept. */
  #tidy(name: string, group: Group): void {
    if (group.taken === 0 && group.waiting.size === 0 && this.#groups.get(name) === group)
      this.#groups.delete(name);
  }

  #see(name: string, group: Group): void {
    if (name === NO_GROUP) return;
    const now = this.#clock.now();
    if (!this.#hasMuch(group, now)) this.#lastLittle = { name, at: now };
    this.#atWork.see(name, now);
  }
}
