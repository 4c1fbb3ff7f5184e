/** Of a group's keys at most so many go ahead of one that waits longer: nothing waits for ever. */
const MOST_AHEAD_IN_A_ROW = 3;

/** Keys of one group, each with the time since when it waits, in order of arrival. */
interface Line {
  readonly ahead: Map<string, number>;
  readonly others: Map<string, number>;
  aheadInARow: number;
}

/** Keys that wait for a worker, each once. Groups take turns; within a group those that are ahead come first, three of four. */
export class ReadyKeys {
  /** By group, in the order of their turns. */
  readonly #lines = new Map<string, Line>();
  /** The line that each key stands in, whatever group it is of by now. */
  readonly #lineOf = new Map<string, Line>();

  get size(): number {
    return this.#lineOf.size;
  }

  has(key: string): boolean {
    return this.#lineOf.has(key);
  }

  /** A key that waits already keeps its place, unless it goes ahead now. */
  add(key: string, group: string, { ahead, at }: { ahead: boolean; at: number }): void {
    const known = this.#lineOf.get(key);
    if (known !== undefined) {
      const since = known.others.get(key);
      if (!ahead || since === undefined) return;
      known.others.delete(key);
      known.ahead.set(key, since);
      return;
    }
    const line = this.#lines.get(group) ?? { ahead: new Map(), others: new Map(), aheadInARow: 0 };
    this.#lines.set(group, line);
    (ahead ? line.ahead : line.others).set(key, at);
    this.#lineOf.set(key, line);
  }

  /** The next key of the first group that may have one, which goes to the end of the line of groups. */
  take(mayHave: (group: string) => boolean): { key: string; group: string } | undefined {
    for (const [group, line] of this.#lines) {
      if (!mayHave(group)) continue;
      this.#lines.delete(group);
      const key = nextOf(line);
      if (key === undefined) continue;
      if (line.ahead.size + line.others.size > 0) this.#lines.set(group, line);
      this.#lineOf.delete(key);
      return { key, group };
    }
    return undefined;
  }

  clear(): void {
    this.#lines.clear();
    this.#lineOf.clear();
  }

  /** Since when the key waits that waits longest; nothing: none does. */
  oldest(): number | undefined {
    let oldest: number | undefined;
    // Those that went ahead later have kept their time.
    for (const { ahead, others } of this.#lines.values())
      for (const since of [...ahead.values(), ...firstOf(others)])
        if (oldest === undefined || since < oldest) oldest = since;
    return oldest;
  }
}

function firstOf(waiting: ReadonlyMap<string, number>): number[] {
  const [first] = waiting.values();
  return first === undefined ? [] : [first];
}

function nextOf(line: Line): string | undefined {
  const { ahead, others } = line;
  const isAhead = ahead.size > 0 && (others.size === 0 || line.aheadInARow < MOST_AHEAD_IN_A_ROW);
  const from = isAhead ? ahead : others;
  line.aheadInARow = isAhead && others.size > 0 ? line.aheadInARow + 1 : 0;
  const [key] = from.keys();
  if (key !== undefined) from.delete(key);
  return key;
}
