import { type BackoffOptions, fullJitter } from '../../../domain/core/backoff.ts';
import { contentHash } from '../../../domain/core/hash.ts';
import type { Action } from '../action.ts';
import type { Failure } from '../observe/failure.ts';
import { asDate, type LookTime } from '../reconcile-time.ts';

/** A refused write is tried again after half to all of 5 s, 10 s, 20 s … 5 min: somebody may have given us the right. */
const BACKOFF: BackoffOptions = { baseMs: 5_000, capMs: 300_000 };

interface Refusal {
  readonly fingerprint: string;
  readonly failure: Failure;
  readonly attempts: number;
  /** In ticks. */
  readonly retryAt: number;
}

/**
 * What the cluster refused, so that every event does not lead to the same refused call. Only a cache: forgotten at a
 * restart, and void as soon as something else is to be written.
 */
export class Refusals {
  readonly #byAction = new Map<string, Refusal>();
  readonly #random: () => number;

  constructor(random: () => number = Math.random) {
    this.#random = random;
  }

  /** The refusal of exactly this action, while it is too early to try again. */
  standing(action: Action, ticks: number): Failure | undefined {
    const refusal = this.#byAction.get(action.id);
    if (refusal === undefined || ticks >= refusal.retryAt) return undefined;
    return refusal.fingerprint === fingerprint(action) ? refusal.failure : undefined;
  }

  /** Something refused an action of this id, and nothing has let it through since. */
  has(actionId: string): boolean {
    return this.#byAction.has(actionId);
  }

  note(action: Action, failure: Failure, ticks: number): void {
    const before = this.#byAction.get(action.id);
    const print = fingerprint(action);
    const attempts = before?.fingerprint === print ? before.attempts : 0;
    const backoff = { ...BACKOFF, capMs: failure.retryWithinMs ?? BACKOFF.capMs };
    const ceiling = Math.min(backoff.capMs, backoff.baseMs * 2 ** attempts);
    const delay = ceiling / 2 + fullJitter(attempts, backoff, this.#random) / 2;
    this.#byAction.set(action.id, {
      fingerprint: print,
      failure,
      attempts: attempts + 1,
      retryAt: ticks + delay,
    });
  }

  clear(action: Action): void {
    this.#byAction.delete(action.id);
  }

  /** Drops what is no longer asked for, and tells the date at which the earliest refused action is due; undefined: none stands. */
  nextTry(actions: readonly Pick<Action, 'id'>[], time: LookTime): number | undefined {
    const asked = new Set(actions.map(({ id }) => id));
    for (const id of this.#byAction.keys()) if (!asked.has(id)) this.#byAction.delete(id);
    const times = [...this.#byAction.values()].map(({ retryAt }) => retryAt);
    return times.length === 0 ? undefined : asDate(Math.min(...times), time);
  }
}

/** What would be written; preconditions change with every look and are no part of it. */
function fingerprint(action: Action): string {
  const { kind, object, replicas, change } = action as unknown as Partial<Record<string, unknown>>;
  return contentHash({ kind, object, replicas, change });
}
