import { type BackoffOptions, fullJitter } from '../../../domain/core/backoff.ts';
import type { ClusterChange } from '../changes/cluster-changes.ts';
import { asDate, type LookTime } from '../reconcile-time.ts';

/**
 * An unsafe change is tried again after half to all of 5 s, 10 s, 20 s, 30 s, 30 s …: so a rollout ends within a minute
 * after the policy is gone. Each try begins with a dry run, which writes nothing.
 */
const BACKOFF: BackoffOptions = { baseMs: 5_000, capMs: 30_000 };

/** What is remembered of how the cluster answered the last write of an object. */
export interface ClusterAnswer extends ClusterChange {
  /** Until then (ticks) nothing of the same is written. */
  readonly retryAt: number;
  readonly attempts: number;
}

/** An answer as a decision knows it. */
export interface KnownAnswer extends ClusterChange {
  /** It is time to try again. */
  readonly isDue: boolean;
}

/** A safe change as the status records it, so that another process knows of it. */
export interface AcceptedChange {
  readonly object: string;
  readonly hash: string;
  readonly fields: string;
}

/** How the cluster changes what is written, by the id of the object; `replicasKey` for its number of pods. */
export class ClusterAnswers {
  readonly #byId = new Map<string, ClusterAnswer>();
  readonly #random: () => number;

  constructor(random: () => number = Math.random) {
    this.#random = random;
  }

  /** Takes over what an earlier process has recorded. */
  recall(accepted: readonly AcceptedChange[]): void {
    for (const { object, hash, fields } of accepted) {
      if (this.#byId.has(object)) continue;
      this.#byId.set(object, { hash, fields, isSafe: true, attempts: 0, retryAt: Number.POSITIVE_INFINITY });
    }
  }

  /** The answer to a write; undefined: it is as it was written. */
  note(id: string, change: ClusterChange | undefined, ticks: number): void {
    if (change === undefined) this.#byId.delete(id);
    else this.#byId.set(id, { ...change, ...this.#retry(this.#attempts(id), ticks, change.isSafe) });
  }

  /** A dry run has shown that the cluster still changes it. */
  noteSame(id: string, ticks: number): void {
    const known = this.#byId.get(id);
    if (known !== undefined) this.note(id, known, ticks);
  }

  /** Counted over different answers: a webhook may give another one to each request. */
  #attempts(id: string): number {
    const known = this.#byId.get(id);
    return known === undefined || known.isSafe ? 0 : known.attempts + 1;
  }

  #retry(attempts: number, ticks: number, isSafe: boolean): Pick<ClusterAnswer, 'attempts' | 'retryAt'> {
    if (isSafe) return { attempts, retryAt: Number.POSITIVE_INFINITY };
    const ceiling = Math.min(BACKOFF.capMs, BACKOFF.baseMs * 2 ** attempts);
    const delay = ceiling / 2 + fullJitter(attempts, BACKOFF, this.#random) / 2;
    return { attempts, retryAt: ticks + delay };
  }

  /** Drops what does not hold any more. */
  keep(holds: (id: string, answer: ClusterAnswer) => boolean): void {
    for (const [id, answer] of this.#byId) if (!holds(id, answer)) this.#byId.delete(id);
  }

  of(id: string): ClusterAnswer | undefined {
    return this.#byId.get(id);
  }

  /** What is known now. */
  known(ticks: number): ReadonlyMap<string, KnownAnswer> {
    return new Map(
      [...this.#byId].map(([id, { hash, fields, isSafe, hides = false, retryAt }]) => [
        id,
        { hash, fields, isSafe, hides, isDue: ticks >= retryAt },
      ]),
    );
  }

  /** When the next try is due, in ms since the epoch; undefined: none is. */
  nextTry(time: LookTime): number | undefined {
    const times = [...this.#byId.values()].map(({ retryAt }) => retryAt).filter(Number.isFinite);
    return times.length === 0 ? undefined : asDate(Math.min(...times), time);
  }
}

/** Key of the number of pods of a workload. */
export const replicasKey = (id: string): string => `${id} replicas`;
