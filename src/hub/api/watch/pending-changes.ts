import type { ChangeHint } from './change-hint.ts';

/** The changes that one stream has not sent yet. Their number is bounded, whatever the client reads. Pure. */

/** A change, as a line of the stream. */
export interface ChangeLine {
  readonly type: 'change';
  readonly key: string;
  readonly deployment_id: string | null;
  readonly generation: number | null;
}

/** The client must read everything again. */
export interface ResetLine {
  readonly type: 'reset';
}

export type WatchLine = ChangeLine | ResetLine;

export const RESET: ResetLine = Object.freeze({ type: 'reset' });

/** Number of pending changes above which one reset replaces them. */
export const MAX_PENDING = 200;

/** Key of a change. A change that is sent twice has the same key. */
export const changeKey = ({ transaction, deploymentId }: Pick<ChangeHint, 'transaction' | 'deploymentId'>) =>
  `${transaction}_${deploymentId ?? 'tenant'}`;

/** A hint as a line; null: the client must read everything again. Streams share the line. */
export function lineOf(hint: ChangeHint): ChangeLine | null {
  const { deploymentId, generation } = hint;
  if (deploymentId === 'all') return null;
  return { type: 'change', key: changeKey(hint), deployment_id: deploymentId, generation };
}

export class PendingChanges {
  /** The latest change of each deployment. */
  readonly #lines = new Map<string | null, ChangeLine>();
  /** A stream begins with a reset, because the client may have read before earlier changes. */
  #isReset = true;

  /** Adds a change; null: a reset. A change that is pending with a reset is covered by it. */
  add(line: ChangeLine | null): void {
    if (this.#isReset) return;
    if (line !== null) this.#lines.set(line.deployment_id, line);
    if (line === null || this.#lines.size > MAX_PENDING) this.reset();
  }

  reset(): void {
    this.#isReset = true;
    this.#lines.clear();
  }

  get isEmpty(): boolean {
    return !this.#isReset && this.#lines.size === 0;
  }

  /** Removes and returns all that is pending. */
  take(): readonly WatchLine[] {
    if (this.#isReset) {
      this.#isReset = false;
      return [RESET];
    }
    const lines = [...this.#lines.values()];
    this.#lines.clear();
    return lines;
  }
}
