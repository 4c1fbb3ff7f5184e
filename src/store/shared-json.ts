/** Parses text; a text that is asked for again and again gives the same value, as long as it is remembered. */
export type SharedJson = (text: string) => unknown;

/** Longer texts are few, and would push out many others. */
const LONGEST = 16_384;

function frozen(value: unknown): unknown {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    for (const member of Object.values(value)) frozen(member);
    Object.freeze(value);
  }
  return value;
}

/** What was asked for lately: of the last so many characters, of twice as many at most. */
class Lately<Key, Value> {
  readonly #most: number;
  #young = new Map<Key, Value>();
  #old = new Map<Key, Value>();
  #characters = 0;

  constructor(most: number) {
    this.#most = most;
  }

  get(key: Key, characters: number): Value | undefined {
    const young = this.#young.get(key);
    if (young !== undefined) return young;
    const old = this.#old.get(key);
    if (old !== undefined) this.set(key, old, characters);
    return old;
  }

  set(key: Key, value: Value, characters: number): void {
    this.#characters += characters;
    if (this.#characters > this.#most) {
      this.#old = this.#young;
      this.#young = new Map();
      this.#characters = characters;
    }
    this.#young.set(key, value);
  }
}

const FNV_OFFSET = 0x811c9dc5;
const FNV_PRIME = 0x01000193;

/** FNV-1a, of UTF-16 units. */
function hashOf(text: string): number {
  let hash = FNV_OFFSET;
  for (let index = 0; index < text.length; index += 1)
    hash = Math.imul(hash ^ text.charCodeAt(index), FNV_PRIME);
  return hash;
}

/**
 * JSON of columns that are read over and over: what the same deployments are polled for costs a look-up, and whoever makes
 * something of such a value may keep it with the value. Nobody may change one, kept or not.
 *
 * A value is kept, frozen, from the second time on. Of the first only a hash is noted: who reads each deployment once would
 * pay for keeping all of them, and garbage collection for what is kept beside them, more than for parsing.
 * @param most of so many characters, of those lately asked for; of twice as many at most
 */
export function sharedJson(most: number): SharedJson {
  const kept = new Lately<string, unknown>(most);
  // Half as far back: what comes again only after more than can be kept would be kept in vain, each time. Of two texts with
  // one hash the second is kept at its first time.
  const seen = new Lately<number, true>(most / 2);
  return (text) => {
    const { length } = text;
    if (length > LONGEST) return JSON.parse(text);
    const known = kept.get(text, length);
    if (known !== undefined) return known;
    const value: unknown = JSON.parse(text);
    const hash = hashOf(text);
    if (seen.get(hash, length)) kept.set(text, frozen(value), length);
    else seen.set(hash, true, length);
    return value;
  };
}
