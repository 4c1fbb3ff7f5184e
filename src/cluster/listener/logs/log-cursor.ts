import type { LogLine } from '../../kube/client/log-lines.ts';

/**
 * Position in a container's log. The API filters logs by whole seconds, so the lines of the cursor's second are
 * returned again. `skip` is the number of these lines that were already read. Pure.
 */
export interface LogCursor {
  /** Second from which the log is read, in RFC 3339; null: from its beginning. */
  readonly since: string | null;
  /** Number of lines from this second on that were already read. */
  readonly skip: number;
}

export const START: LogCursor = { since: null, skip: 0 };

/** The second of a timestamp. All timestamps of one container have the same UTC offset. */
const secondOf = (at: string) => at.replace(/\.\d+/, '');

/** Follows one read that starts at a cursor. Decides which lines are new, and where the next read begins. */
export class CursorWalk {
  readonly #from: LogCursor;
  #since: string | null;
  #counted = 0;

  constructor(from: LogCursor) {
    this.#from = from;
    this.#since = from.since;
  }

  /** Whether the line is new. */
  take({ at }: LogLine): boolean {
    const { since, skip } = this.#from;
    const second = secondOf(at);
    // The line is older than requested.
    if (since !== null && second < since) return false;
    // Ignores a clock that was set back, because an earlier cursor would return later lines again.
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
