import { deflateRawSync, inflateRawSync } from 'node:zlib';

/** zlib's memLevel: sufficient for the size of typical objects, with a tenth of the default memory per call. */
const WINDOW = { windowBits: 14, memLevel: 6 } as const;
/** Compression level: a fifth smaller than with level 1, in the same time. */
const LEVEL = 3;
/** The window size of deflate. */
const MAX_DICTIONARY = 2 ** WINDOW.windowBits;

/** Identity and version of an object, available without decompressing it. */
export interface ObjectVersion {
  readonly uid: string | undefined;
  readonly resourceVersion: string | undefined;
  readonly isLeaving: boolean;
}

/** Whether two existing objects are the same, including their content. */
export const isSameVersion = (a: Identity, b: Identity | undefined) =>
  a.uid === b?.uid && a.resourceVersion === b?.resourceVersion;

interface Identity {
  readonly uid?: string | undefined;
  readonly resourceVersion?: string | undefined;
}

interface Versioned {
  readonly metadata: Identity & { readonly deletionTimestamp?: string | undefined };
}

/**
 * Number of objects that are compressed together, which costs a third of separate compression, because the fixed cost
 * of a zlib call dominates.
 */
const PACK_SIZE = 8;
/**
 * When only this number of the objects of a pack is left, these objects are packed again with others. Otherwise a few
 * objects would keep the bytes of the whole pack in memory.
 */
const MIN_PACK_SIZE = 2;

/** Objects that are compressed together. */
interface Pack<T> {
  /** Compressed JSON, one line per object, as a Latin-1 string, which takes less memory than a Buffer. */
  readonly bytes: string;
  /** Keys in the order of the lines. undefined: the object is gone or was replaced. */
  readonly entries: (Entry<T> | undefined)[];
}

interface Entry<T> extends ObjectVersion {
  /** undefined: compressed. */
  object: T | undefined;
  /** undefined: not compressed yet. */
  pack: Pack<T> | undefined;
}

/**
 * Objects by key. Only the `maxUncompressed` most recently used objects are kept uncompressed. All other objects are
 * compressed to between a fiftieth and a fifth of their size, because objects of one kind are similar, and the first
 * compressed object is the dictionary for all. Compression takes about 10 µs per object, and decompression about 20 µs,
 * or less when the previous object was in the same pack. Without `maxUncompressed`, nothing is compressed.
 * Decompression returns a new object with equal content.
 */
export class CompressedStore<T extends Versioned> {
  readonly #maxUncompressed: number;
  readonly #entries = new Map<string, Entry<T>>();
  /** Uncompressed objects, the least recently used first. */
  readonly #uncompressed = new Set<Entry<T>>();
  /** Objects that are compressed as soon as there are enough of them. */
  readonly #toPack = new Set<Entry<T>>();
  #dictionary: Buffer | undefined;
  /** The pack that was decompressed last: lists and reconciles access neighbouring names one after the other. */
  #open: { readonly pack: Pack<T>; readonly lines: readonly string[] } | undefined;

  constructor(maxUncompressed = Number.POSITIVE_INFINITY) {
    this.#maxUncompressed = maxUncompressed;
  }

  get size(): number {
    return this.#entries.size;
  }

  keys(): IterableIterator<string> {
    return this.#entries.keys();
  }

  /** Decompresses nothing. */
  versionOf(key: string): ObjectVersion | undefined {
    return this.#entries.get(key);
  }

  get(key: string): T | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    entry.object ??= this.#unpacked(entry);
    const { object } = entry;
    this.#touch(entry);
    return object;
  }

  set(key: string, object: T): void {
    const { uid, resourceVersion, deletionTimestamp } = object.metadata;
    const isLeaving = deletionTimestamp !== undefined;
    const before = this.#entries.get(key);
    const entry = { uid, resourceVersion, isLeaving, object, pack: undefined };
    this.#entries.set(key, entry);
    this.#touch(entry);
    this.#forget(before);
  }

  delete(key: string): void {
    const before = this.#entries.get(key);
    this.#entries.delete(key);
    this.#forget(before);
  }

  #touch(entry: Entry<T>): void {
    if (!Number.isFinite(this.#maxUncompressed)) return;
    this.#toPack.delete(entry);
    this.#uncompressed.delete(entry);
    this.#uncompressed.add(entry);
    if (this.#uncompressed.size <= this.#maxUncompressed) return;
    const [oldest = entry] = this.#uncompressed;
    this.#uncompressed.delete(oldest);
    if (oldest.pack === undefined) this.#packSoon(oldest);
    else oldest.object = undefined;
  }

  #packSoon(entry: Entry<T>): void {
    this.#toPack.add(entry);
    if (this.#toPack.size < PACK_SIZE) return;
    const entries = [...this.#toPack];
    this.#toPack.clear();
    const pack = { bytes: this.#packed(entries.map(({ object }) => JSON.stringify(object))), entries };
    for (const each of entries) {
      each.pack = pack;
      each.object = undefined;
    }
  }

  /** The object is gone, or was replaced. */
  #forget(entry: Entry<T> | undefined): void {
    if (entry === undefined) return;
    this.#uncompressed.delete(entry);
    this.#toPack.delete(entry);
    const { pack } = entry;
    if (pack === undefined) return;
    pack.entries[pack.entries.indexOf(entry)] = undefined;
    const left = pack.entries.filter((each) => each !== undefined);
    if (left.length > MIN_PACK_SIZE) return;
    for (const each of left) {
      each.object ??= this.#unpacked(each);
      each.pack = undefined;
      if (!this.#uncompressed.has(each)) this.#packSoon(each);
    }
  }

  #packed(lines: readonly string[]): string {
    // Copied, because a small buffer is a slice of a larger block of memory.
    this.#dictionary ??= Buffer.from(Buffer.from(lines[0] ?? '').subarray(-MAX_DICTIONARY));
    const options = { ...WINDOW, level: LEVEL, dictionary: this.#dictionary };
    return deflateRawSync(Buffer.from(lines.join('\n')), options).toString('latin1');
  }

  #unpacked(entry: Entry<T>): T | undefined {
    const { pack } = entry;
    if (pack === undefined) return undefined;
    if (this.#open?.pack !== pack) {
      const dictionary = this.#dictionary === undefined ? {} : { dictionary: this.#dictionary };
      const bytes = inflateRawSync(Buffer.from(pack.bytes, 'latin1'), { ...WINDOW, ...dictionary });
      this.#open = { pack, lines: bytes.toString().split('\n') };
    }
    return JSON.parse(this.#open.lines[pack.entries.indexOf(entry)] ?? '') as T;
  }
}
