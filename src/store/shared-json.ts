/** Parses text; the same text gives the same value, as long as it is remembered. */
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

/**
 * JSON of columns that are read over and over, parsed once a text: what the same deployments are polled for costs a
 * look-up, and whoever makes something of such a value may keep it with the value. Nobody may change one: they are frozen.
 * @param most of so many characters, of those lately asked for; of twice as many at most
 */
export function sharedJson(most: number): SharedJson {
  let young = new Map<string, unknown>();
  let old = new Map<string, unknown>();
  let characters = 0;
  const remember = (text: string, value: unknown) => {
    characters += text.length;
    if (characters > most) {
      old = young;
      young = new Map();
      characters = text.length;
    }
    young.set(text, value);
    return value;
  };
  return (text) => {
    if (text.length > LONGEST) return frozen(JSON.parse(text));
    const known = young.get(text);
    if (known !== undefined) return known;
    return remember(text, old.get(text) ?? frozen(JSON.parse(text)));
  };
}
