import { type BackoffOptions, fullJitter } from '../../../domain/core/backoff.ts';
import { contentHash } from '../../../domain/core/hash.ts';
import type { Action } from '../action.ts';
import type { Failure } from '../observe/failure.ts';
import { asDate, type ReconcileTime } from '../reconcile-time.ts';

/**
 * A rejected write is retried after 5 s, 10 s, 20 s … 5 min, with jitter, because a missing right may have been
 * granted.
 */
const BACKOFF: BackoffOptions = { baseMs: 5_000, capMs: 300_000 };

interface Refusal {
  readonly fingerprint: string;
  readonly failure: Failure;
  readonly attempts: number;
  /** In ticks. */
  readonly retryAt: number;
}

/**
 * Writes that the cluster has rejected, so that not every event repeats the same rejected call. The record is only a
 * cache. The cache is empty after a restart, and an entry does not apply to a different write.
 */
export class Refusals {
  readonly #byAction = new Map<string, Refusal>();
  readonly #random: () => number;

  constructor(random: () => number = Math.random) {
    this.#random = random;
  }

  /** The rejection of exactly this action, if its retry is not due. */
  standing(action: Action, ticks: number): Failure | undefined {
    const refusal = this.#byAction.get(action.id);
    if (refusal === undefined || ticks >= refusal.retryAt) return undefined;
    // guard: rejected-writes-wait
    return refusal.fingerprint === fingerprint(action) ? refusal.failure : undefined;
  }

  /** Whether the last action with this id was rejected. */
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

  /**
   * Removes the rejections of actions that are no longer planned. Returns when the earliest retry is due; undefined:
   * none is pending.
   */
  nextTry(actions: readonly Pick<Action, 'id'>[], time: ReconcileTime): number | undefined {
    const asked = new Set(actions.map(({ id }) => id));
    for (const id of this.#byAction.keys()) if (!asked.has(id)) this.#byAction.delete(id);
    const times = [...this.#byAction.values()].map(({ retryAt }) => retryAt);
    return times.length === 0 ? undefined : asDate(Math.min(...times), time);
  }
}

/** Hash of the content of a write, without its preconditions, which change with every reconcile. */
function fingerprint(action: Action): string {
  const { kind, object, replicas, change } = action as unknown as Partial<Record<string, unknown>>;
  return contentHash({ kind, object, replicas, change });
}
