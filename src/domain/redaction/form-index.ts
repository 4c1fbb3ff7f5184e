import { RollingHash } from './rolling-hash.ts';

/** Finds which of many forms a text may hold without a look at each of them: both are written by tenants. */

/** What marks the end at which a text was cut. */
export const CUT = '…';
/** Every form has as many characters; where a text was cut within one, as many of it are looked for. */
export const SHORTEST = 6;
/** How many places of a form are tried for where a text was cut within it. */
export const MOST_PLACES = 64;
/** There is none. */
const NONE = Number.POSITIVE_INFINITY;

/** Steps that the work on one text may take: for each of its characters, and for any. What needs more is made to. */
const STEPS_EACH = 64;
const STEPS_ANY = 32_768;
/** Of forms that are together longer, every few characters after a cut count as theirs: it would be dear to look. */
const MOST_FOR_FEW = 16_384;
/** Characters of forms for which places are kept at a time, of all indexes of the process: each takes some ten bytes. */
const MOST_PLACED = 8_000_000;
/** A length takes fewer bits beside a hash of 26. */
const HASHES = 2 ** 26;

/** The steps that are left for one text. */
export class Steps {
  #left: number;

  constructor(text: string) {
    this.#left = STEPS_ANY + STEPS_EACH * text.length;
  }

  take(count: number): void {
    this.#left -= count;
  }

  get areOver(): boolean {
    return this.#left < 0;
  }
}

/** Which places of a text hold some six characters: a table of buckets, the places of one bucket in their order. */
class Places {
  readonly text: string;
  readonly hash: RollingHash;
  readonly #heads: Int32Array;
  readonly #places: Int32Array;

  constructor(text: string) {
    this.text = text;
    this.hash = new RollingHash(text);
    const { hash } = this;
    const size = SHORTEST;
    const count = Math.max(0, text.length - size + 1);
    const buckets = (count >> 2) + 1;
    this.#heads = new Int32Array(buckets + 1);
    this.#places = new Int32Array(count);
    for (let at = 0; at < count; at += 1) {
      const next = (hash.of(at, at + size) % buckets) + 1;
      this.#heads[next] = (this.#heads[next] ?? 0) + 1;
    }
    for (let bucket = 1; bucket <= buckets; bucket += 1)
      this.#heads[bucket] = (this.#heads[bucket] ?? 0) + (this.#heads[bucket - 1] ?? 0);
    const filled = this.#heads.slice();
    for (let at = 0; at < count; at += 1) {
      const bucket = hash.of(at, at + size) % buckets;
      const slot = filled[bucket] ?? 0;
      this.#places[slot] = at;
      filled[bucket] = slot + 1;
    }
  }

  of(six: string): Int32Array {
    const bucket = new RollingHash(six).of(0, SHORTEST) % (this.#heads.length - 1);
    return this.#places.subarray(this.#heads[bucket], this.#heads[bucket + 1]);
  }
}

/** Indexes whose places are kept, the oldest first. Weakly: with its reader goes what an index knows of secrets. */
let placed: WeakRef<FormIndex>[] = [];

/** Forms, longest first, told by their number in that order. What it finds are candidates: all that count, and few more. */
export class FormIndex {
  readonly #all: readonly string[];
  /** Where each form begins when they stand one after the other, and where the last one ends. */
  readonly #starts: Int32Array;
  /** By the first characters of forms: the lengths of those. */
  readonly #lengths = new Map<number, number[]>();
  /** By length and hash. */
  readonly #forms = new Map<number, number[]>();
  #places: Places | null = null;

  constructor(forms: readonly string[]) {
    this.#all = forms;
    this.#starts = new Int32Array(forms.length + 1);
    const hash = new RollingHash(forms.join(''));
    for (const [number, { length }] of forms.entries()) {
      const start = this.#starts[number] ?? 0;
      this.#starts[number + 1] = start + length;
      const first = hash.of(start, start + SHORTEST);
      const lengths = this.#lengths.get(first) ?? [];
      // Of equal lengths one comes after the other.
      if (lengths.at(-1) !== length) this.#lengths.set(first, [...lengths, length]);
      const key = length * HASHES + hash.of(start, start + length);
      this.#forms.set(key, [...(this.#forms.get(key) ?? []), number]);
    }
  }

  /** Characters of all forms. */
  get size(): number {
    return this.#starts.at(-1) ?? 0;
  }

  /** The forms that the text holds, in order. */
  heldBy(text: string, steps: Steps): number[] {
    const found = new Set<number>();
    steps.take(text.length);
    const hash = new RollingHash(text);
    for (let at = 0; at + SHORTEST <= text.length && !steps.areOver; at += 1) {
      const lengths = this.#lengths.get(hash.of(at, at + SHORTEST));
      if (lengths === undefined) continue;
      steps.take(lengths.length);
      for (const length of lengths) {
        if (at + length > text.length) continue;
        const forms = this.#forms.get(length * HASHES + hash.of(at, at + length));
        for (const form of forms ?? []) found.add(form);
      }
    }
    return [...found].sort((a, b) => a - b);
  }

  /** The first form from `from` on whose rest, or of which a part, may be what a text begins with after its cut. */
  withRest(text: string, from: number, steps: Steps): number {
    if (!text.startsWith(CUT)) return NONE;
    const kept = text.slice(CUT.length);
    if (kept.length < SHORTEST) return this.#holderOf(kept, from);
    const all = this.#placed().hash;
    const within = kept.length - (kept.endsWith(CUT) ? CUT.length : 0);
    let hash: RollingHash | null = null;
    for (const { form, place, end } of this.#placesOf(kept.slice(0, SHORTEST), from, steps)) {
      hash ??= hashOf(kept, steps);
      const rest = end - place;
      const whole = rest <= kept.length && all.of(place, end) === hash.of(0, rest);
      const part = rest >= within && all.of(place, place + within) === hash.of(0, within);
      if (whole || part) return form;
    }
    return NONE;
  }

  /** The first form from `from` on whose beginning may be what a text ends with before its cut. */
  withBeginning(text: string, from: number, steps: Steps): number {
    const length = text.length - CUT.length;
    if (!text.endsWith(CUT) || length < SHORTEST) return NONE;
    const all = this.#placed().hash;
    let hash: RollingHash | null = null;
    for (const { form, start, place } of this.#placesOf(text.slice(length - SHORTEST, length), from, steps)) {
      hash ??= hashOf(text, steps);
      const end = place + SHORTEST;
      const size = end - start;
      if (size <= length && all.of(start, end) === hash.of(length - size, length)) return form;
    }
    return NONE;
  }

  /** Whether a text is cut to so few characters that they count as those of a form without a look. */
  holdsAny(text: string): boolean {
    return text.startsWith(CUT) && text.length < CUT.length + SHORTEST && this.size > MOST_FOR_FEW;
  }

  /** The first form from `from` on that holds a few characters: of these it is enough. */
  #holderOf(few: string, from: number): number {
    const found = this.#all.findIndex((form, number) => number >= from && form.includes(few));
    return found < 0 ? NONE : found;
  }

  /** Where six characters stand in forms: of each the first places. */
  *#placesOf(six: string, from: number, steps: Steps) {
    const table = this.#placed();
    const places = table.of(six);
    let [form, start, end, tried] = [-1, 0, this.#starts[from] ?? 0, 0];
    for (let next = firstFrom(places, end); next < places.length; next += 1) {
      steps.take(1);
      if (steps.areOver) return;
      const place = places[next] ?? 0;
      if (!table.text.startsWith(six, place)) continue;
      if (place >= end) {
        form = this.#formAt(place);
        [start, end, tried] = [this.#starts[form] ?? 0, this.#starts[form + 1] ?? 0, 0];
      }
      if (place + SHORTEST > end) continue;
      tried += 1;
      yield { form, start, place, end };
      if (tried === MOST_PLACES) next = firstFrom(places, end) - 1;
    }
  }

  /** Made when a text was cut, and again where it had to give way. */
  #placed(): Places {
    if (this.#places !== null) return this.#places;
    this.#places = new Places(this.#all.join(''));
    const others = placed.flatMap((other) => other.deref() ?? []);
    let room = MOST_PLACED - this.size;
    for (const other of others) room -= other.size;
    while (room < 0 && others.length > 0) {
      const oldest = others.shift();
      room += oldest?.size ?? 0;
      if (oldest !== undefined) oldest.#places = null;
    }
    placed = [...others, this].map((index) => new WeakRef(index));
    return this.#places;
  }

  #formAt(place: number): number {
    return firstFrom(this.#starts, place + 1) - 1;
  }
}

/** Where the first of ascending numbers is that is not below `least`. */
function firstFrom(numbers: Int32Array, least: number): number {
  let [low, high] = [0, numbers.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((numbers[middle] ?? 0) < least) low = middle + 1;
    else high = middle;
  }
  return low;
}

function hashOf(text: string, steps: Steps): RollingHash {
  steps.take(text.length);
  return new RollingHash(text);
}
