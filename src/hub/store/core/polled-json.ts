/** A row with its id and columns of JSON: as texts, as PostgreSQL tells them, or parsed. */
type RowOf<Name extends string, Value> = { readonly id: string } & { [Column in Name]: Value };

interface Counted {
  /** Of the texts, at most so far. */
  characters: number;
}

/** What of a row is remembered, by column. */
interface Remembered extends Counted {
  readonly texts: string[];
  readonly values: unknown[];
}

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
class Lately<Value extends Counted> {
  readonly #most: number;
  #young = new Map<string, Value>();
  #old = new Map<string, Value>();
  #characters = 0;

  constructor(most: number) {
    this.#most = most;
  }

  get(id: string): Value | undefined {
    const young = this.#young.get(id);
    if (young !== undefined) return young;
    const old = this.#old.get(id);
    if (old !== undefined) this.set(id, old);
    return old;
  }

  set(id: string, value: Value): void {
    this.#characters += value.characters;
    if (this.#characters > this.#most) {
      this.#old = this.#young;
      this.#young = new Map();
      this.#characters = value.characters;
    }
    this.#young.set(id, value);
  }
}

/**
 * JSON of rows that are read over and over: what the same deployments are polled for costs a look-up by their id and a
 * comparison of texts, and whoever makes something of such a value may keep it with the value. Nobody may change one,
 * remembered or not.
 *
 * A row is remembered, its values frozen, from the second time on. Of the first only its id is noted: who reads each
 * deployment once would pay for keeping all of them, and garbage collection for what is kept beside them, more than for
 * parsing.
 */
export class PolledJson<Name extends string> {
  readonly #columns: readonly Name[];
  readonly #remembered: Lately<Remembered>;
  readonly #noted: Lately<Counted>;

  /** @param most of rows with so many characters of JSON, of those lately asked for; of twice as many at most */
  constructor(columns: readonly Name[], most: number) {
    this.#columns = columns;
    this.#remembered = new Lately(most);
    // Half as far back: what comes again only after more than can be kept would be kept in vain, each time.
    this.#noted = new Lately(most / 2);
  }

  /**
   * Puts the values of the columns in place of their texts, in the row itself.
   * @throws SyntaxError for a text that is no JSON
   */
  parse<Row extends RowOf<Name, string>>(row: Row): Omit<Row, Name> & RowOf<Name, unknown> {
    const parsed: { [Column in Name]: unknown } = row;
    const remembered = this.#rememberedOf(row);
    for (const [at, column] of this.#columns.entries()) {
      const text = row[column];
      if (remembered === undefined || text.length > LONGEST) parsed[column] = JSON.parse(text);
      else parsed[column] = valueIn(remembered, at, text);
    }
    return row;
  }

  #rememberedOf(row: RowOf<Name, string>): Remembered | undefined {
    const characters = this.#charactersOf(row);
    const { id } = row;
    const known = this.#remembered.get(id);
    if (known === undefined) return this.#begun(id, characters);
    if (characters > known.characters) {
      // Counted anew: a row that has grown pushes out others.
      known.characters = characters;
      this.#remembered.set(id, known);
    }
    return known;
  }

  #begun(id: string, characters: number): Remembered | undefined {
    if (this.#noted.get(id) === undefined) {
      this.#noted.set(id, { characters });
      return undefined;
    }
    const begun: Remembered = { characters, texts: [], values: [] };
    this.#remembered.set(id, begun);
    return begun;
  }

  /** Of those that are remembered. */
  #charactersOf(row: RowOf<Name, string>): number {
    let characters = 0;
    for (const column of this.#columns) {
      const { length } = row[column];
      if (length <= LONGEST) characters += length;
    }
    return characters;
  }
}

/** The value of a column; what it was before a change is forgotten. */
function valueIn({ texts, values }: Remembered, at: number, text: string): unknown {
  if (texts[at] !== text) {
    values[at] = frozen(JSON.parse(text));
    texts[at] = text;
  }
  return values[at];
}
