import type { LogLine } from '../../kube/client/log-lines.ts';

/**
 * Where reading a container's log stands. Logs are asked for from a second on, so the lines of that second that were
 * read already come again, and are counted off. Pure.
 */
export interface LogCursor {
  /** The log is read from this second on, RFC 3339; null: from its beginning. */
  readonly since: string | null;
  /** Lines from there on that were read already. */
  readonly skip: number;
}

export const START: LogCursor = { since: null, skip: 0 };

/** The second of a time; times of one container have one offset. */
const secondOf = (at: string) => at.replace(/\.\d+/, '');

/** Follows one reading from a cursor on: says which lines are new, and where the next reading begins. */
export class CursorWalk {
  readonly #from: LogCursor;
  #since: string | null;
  #counted = 0;

  constructor(from: LogCursor) {
    this.#from = from;
    this.#since = from.since;
  }

  /** Whether the line was not read before. */
  take({ at }: LogLine): boolean {
    const { since, skip } = this.#from;
    const second = secondOf(at);
    // What was not asked for.
    if (since !== null && second < since) return false;
    // A clock that was set back makes no earlier beginning: later lines would come again.
    if (this.#since === null || second > this.#since) {
      this.#since = second;
      this.#counted = 0;
    }
    if (second === this.#since) this.#counted += 1;
    return second !== since || this.#counted > skip;
  }

  get cursor(): LogCursor {
    return { since: this.#since, skip: this.#counted };
  }
}
