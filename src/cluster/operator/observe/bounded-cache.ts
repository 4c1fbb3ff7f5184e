export interface BoundedCache<Key extends object, Value> {
  get(key: Key): Value | undefined;
  set(key: Key, value: Value): void;
}

/**
 * A cache of values computed from recently used objects. The cache has weak references to at least the last `most` keys
 * and at most twice as many. Objects that change or fail are used again soon. Entries of idle objects would only use
 * memory.
 */
export function boundedCache<Key extends object, Value>(most: number): BoundedCache<Key, Value> {
  let young = new WeakMap<Key, Value>();
  let old = new WeakMap<Key, Value>();
  let count = 0;
  const set = (key: Key, value: Value) => {
    if (!young.has(key)) count += 1;
    if (count > most) {
      old = young;
      young = new WeakMap();
      count = 1;
    }
    young.set(key, value);
  };
  return {
    get: (key) => {
      const value = young.get(key);
      if (value !== undefined) return value;
      const older = old.get(key);
      if (older !== undefined) set(key, older);
      return older;
    },
    set,
  };
}
