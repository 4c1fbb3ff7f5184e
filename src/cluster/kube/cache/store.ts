import { type KubeObject, keyOf } from '../client/object.ts';
import { CompressedStore, type ObjectVersion } from './compressed-store.ts';

export type IndexFunction<T> = (object: T) => readonly string[];

/** Read side of a reflector's cache. Objects are shared, so never change them. Keys as in `keyOf`. */
export interface Store<T extends KubeObject> {
  get(key: string): T | undefined;
  list(): T[];
  keys(): IterableIterator<string>;
  /** Identity and version of the object, without decompressing it. */
  versionOf(key: string): ObjectVersion | undefined;
  readonly size: number;
  /** Objects that the index function assigned to `value`. Throws for an index that was not declared. */
  byIndex(index: string, value: string): T[];
  /** Keys of the objects of `byIndex`, without decompressing them. */
  keysByIndex(index: string, value: string): string[];
}

/** Index function: the namespace; cluster-scoped objects are not indexed. */
export function byNamespace(object: KubeObject): string[] {
  return object.metadata.namespace === undefined ? [] : [object.metadata.namespace];
}

interface Index<T> {
  file: IndexFunction<T>;
  /**
   * A single key is stored without a set, because most values have one key, and a set would take more memory than the
   * rest of an entry.
   */
  keysByValue: Map<string, string | Set<string>>;
}

/** {@link Store} with its write side, which only the reflector uses. */
export class IndexedStore<T extends KubeObject> implements Store<T> {
  readonly #objects: CompressedStore<T>;
  readonly #indexes = new Map<string, Index<T>>();

  /** @param maxUncompressed number of objects that are kept uncompressed; default: all */
  constructor(indexes: Readonly<Record<string, IndexFunction<T>>> = {}, maxUncompressed?: number) {
    this.#objects = new CompressedStore(maxUncompressed);
    for (const [name, file] of Object.entries(indexes)) {
      this.#indexes.set(name, { file, keysByValue: new Map() });
    }
  }

  get(key: string): T | undefined {
    return this.#objects.get(key);
  }

  list(): T[] {
    return [...this.keys()].flatMap((key) => this.get(key) ?? []);
  }

  keys(): IterableIterator<string> {
    return this.#objects.keys();
  }

  versionOf(key: string): ObjectVersion | undefined {
    return this.#objects.versionOf(key);
  }

  get size(): number {
    return this.#objects.size;
  }

  byIndex(index: string, value: string): T[] {
    const objects: T[] = [];
    for (const key of this.#keys(index, value)) {
      const object = this.#objects.get(key);
      if (object !== undefined) objects.push(object);
    }
    return objects;
  }

  keysByIndex(index: string, value: string): string[] {
    return [...this.#keys(index, value)];
  }

  #keys(index: string, value: string): Iterable<string> {
    const found = this.#indexes.get(index);
    if (found === undefined) throw new Error(`failed to look up objects: there is no index named ${index}`);
    return keysOf(found, value);
  }

  set(object: T): void {
    const key = keyOf(object);
    const old = this.#objects.get(key);
    this.#objects.set(key, object);
    for (const index of this.#indexes.values()) {
      const before = old === undefined ? [] : index.file(old);
      const after = index.file(object);
      for (const value of before) if (!after.includes(value)) unfile(index, value, key);
      for (const value of after) file(index, value, key);
    }
  }

  delete(key: string): void {
    const old = this.#objects.get(key);
    if (old === undefined) return;
    this.#objects.delete(key);
    for (const index of this.#indexes.values()) {
      for (const value of index.file(old)) unfile(index, value, key);
    }
  }
}

function keysOf<T>({ keysByValue }: Index<T>, value: string): Iterable<string> {
  const keys = keysByValue.get(value) ?? [];
  return typeof keys === 'string' ? [keys] : keys;
}

function file<T>({ keysByValue }: Index<T>, value: string, key: string): void {
  const keys = keysByValue.get(value);
  if (keys === undefined) keysByValue.set(value, key);
  else if (typeof keys !== 'string') keys.add(key);
  else if (keys !== key) keysByValue.set(value, new Set([keys, key]));
}

function unfile<T>({ keysByValue }: Index<T>, value: string, key: string): void {
  const keys = keysByValue.get(value);
  if (keys === undefined) return;
  if (typeof keys === 'string') {
    if (keys === key) keysByValue.delete(value);
    return;
  }
  keys.delete(key);
  if (keys.size === 0) keysByValue.delete(value);
}
