export interface BoundedCache<Key extends object, Value> {
  get(key: Key): Value | undefined;
  set(key: Key, value: Value): void;
}

/**
 * What was worked out of cached objects lately: of the last `most` that were asked for or set, of twice as many at most,
 * and of none that nobody holds any more. What is asked for again soon is of what changes or fails; to keep it of all
 * that is at rest would only fill memory.
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
