/**
 * An Aho–Corasick automaton: follows all patterns at once while a text is read. The time for a text does not depend on
 * the number of patterns. A state stands for the longest end of the text so far with which a pattern begins.
 */
export class PatternAutomaton {
  // State 0 is the start. States are numbered by depth, so that the children of a state are adjacent, and ordered by
  // their character. The children of state s are numbered from #children[s] up to #children[s + 1].
  readonly #children: Int32Array;
  readonly #character: Uint16Array;
  /** The state of the next shorter end of the text. */
  readonly #fallback: Int32Array;
  readonly #depth: Int32Array;
  readonly #longestMatch: Int32Array;

  constructor(patterns: readonly string[]) {
    const sorted = [...new Set(patterns)].sort();
    const size = countStates(sorted);
    const array = () => new Int32Array(size + 1);
    this.#children = array();
    this.#character = new Uint16Array(size);
    this.#fallback = array();
    this.#depth = array();
    this.#longestMatch = array();
    // The patterns that begin with the characters of a state are adjacent in `sorted`.
    const [first, end] = [array(), array()];
    end[0] = sorted.length;
    let states = 1;
    for (let state = 0; state < states; state += 1) {
      const depth = this.depth(state);
      const fallback = at(this.#fallback, state);
      this.#children[state] = states;
      let next = at(first, state);
      const isPattern = sorted[next]?.length === depth;
      this.#longestMatch[state] = isPattern ? depth : this.longestMatch(fallback);
      if (isPattern) next += 1;
      while (next < at(end, state)) {
        const character = codeAt(sorted, next, depth);
        const child = states;
        states += 1;
        this.#character[child] = character;
        this.#depth[child] = depth + 1;
        this.#fallback[child] = state === 0 ? 0 : this.next(fallback, character);
        first[child] = next;
        while (next < at(end, state) && codeAt(sorted, next, depth) === character) next += 1;
        end[child] = next;
      }
    }
    this.#children[states] = states;
  }

  /** The state after one more character (a UTF-16 code unit) of the text. 0: the state before the text. */
  next(state: number, character: number): number {
    for (let from = state; ; from = at(this.#fallback, from)) {
      const child = this.#childOf(from, character);
      if (child !== 0 || from === 0) return child;
    }
  }

  /** Length of the longest pattern that ends here. 0: no pattern ends here. */
  longestMatch(state: number): number {
    return at(this.#longestMatch, state);
  }

  /** Length of the longest end of the text with which a pattern begins. */
  depth(state: number): number {
    return at(this.#depth, state);
  }

  /** The child with this character. 0: there is no such child. */
  #childOf(state: number, character: number): number {
    let [low, high] = [at(this.#children, state), at(this.#children, state + 1)];
    while (low < high) {
      const middle = (low + high) >> 1;
      const found = at(this.#character, middle);
      if (found === character) return middle;
      if (found < character) low = middle + 1;
      else high = middle;
    }
    return 0;
  }
}

/** Patterns that begin with the same characters share the states of these characters. */
function countStates(sorted: readonly string[]): number {
  let count = 1;
  let previous = '';
  for (const pattern of sorted) {
    let shared = 0;
    while (shared < previous.length && previous[shared] === pattern[shared]) shared += 1;
    count += pattern.length - shared;
    previous = pattern;
  }
  return count;
}

const at = (numbers: Int32Array | Uint16Array, index: number): number => numbers[index] ?? 0;
const codeAt = (texts: readonly string[], index: number, place: number): number =>
  texts[index]?.charCodeAt(place) ?? 0;
