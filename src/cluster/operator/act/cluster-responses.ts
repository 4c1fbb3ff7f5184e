import { type BackoffOptions, fullJitter } from '../../../domain/core/backoff.ts';
import type { ClusterChange, KnownResponse } from '../changes/cluster-changes.ts';
import { asDate, type ReconcileTime } from '../reconcile-time.ts';

/**
 * A write that the cluster changes unsafely is retried after 5 s, 10 s, 20 s, 30 s, 30 s …, with jitter. A rollout
 * therefore completes within a minute after the policy is removed. Each retry begins with a dry run.
 */
const BACKOFF: BackoffOptions = { baseMs: 5_000, capMs: 30_000 };

/** How the cluster changed the last write of an object. */
export interface ClusterResponse extends ClusterChange {
  /** The same write is not retried before this time (ticks). */
  readonly retryAt: number;
  readonly attempts: number;
}

/** A safe change in the form of the status, from which another process reads it. */
export interface AcceptedChange {
  readonly object: string;
  readonly hash: string;
  readonly fields: string;
}

/**
 * Records how the cluster changes the operator's writes, by the id of the object, or by `replicasKey` for its number of
 * pods.
 */
export class ClusterResponses {
  readonly #byId = new Map<string, ClusterResponse>();
  readonly #random: () => number;

  constructor(random: () => number = Math.random) {
    this.#random = random;
  }

  /** Adds the changes that an earlier process recorded in the status. */
  recall(accepted: readonly AcceptedChange[]): void {
    for (const { object, hash, fields } of accepted) {
      if (this.#byId.has(object)) continue;
      this.#byId.set(object, { hash, fields, isSafe: true, attempts: 0, retryAt: Number.POSITIVE_INFINITY });
    }
  }

  /** Notes the response to a write; undefined: the cluster did not change it. */
  note(id: string, change: ClusterChange | undefined, ticks: number): void {
    if (change === undefined) this.#byId.delete(id);
    else this.#byId.set(id, { ...change, ...this.#retry(this.#attempts(id), ticks, change.isSafe) });
  }

  /** Notes that the cluster still changes the object, according to a dry run. */
  noteSame(id: string, ticks: number): void {
    const known = this.#byId.get(id);
    if (known !== undefined) this.note(id, known, ticks);
  }

  /** Counts attempts across different responses, because a webhook may change each request differently. */
  #attempts(id: string): number {
    const known = this.#byId.get(id);
    return known === undefined || known.isSafe ? 0 : known.attempts + 1;
  }

  #retry(attempts: number, ticks: number, isSafe: boolean): Pick<ClusterResponse, 'attempts' | 'retryAt'> {
    if (isSafe) return { attempts, retryAt: Number.POSITIVE_INFINITY };
    const ceiling = Math.min(BACKOFF.capMs, BACKOFF.baseMs * 2 ** attempts);
    const delay = ceiling / 2 + fullJitter(attempts, BACKOFF, this.#random) / 2;
    return { attempts, retryAt: ticks + delay };
  }

  /** Removes responses that no longer apply. */
  keep(holds: (id: string, response: ClusterResponse) => boolean): void {
    for (const [id, response] of this.#byId) if (!holds(id, response)) this.#byId.delete(id);
  }

  of(id: string): ClusterResponse | undefined {
    return this.#byId.get(id);
  }

  /** The responses at this time. */
  known(ticks: number): ReadonlyMap<string, KnownResponse> {
    return new Map(
      [...this.#byId].map(([id, { hash, fields, isSafe, hides = false, retryAt }]) => [
        id,
        { hash, fields, isSafe, hides, isDue: ticks >= retryAt },
      ]),
    );
  }

  /** When the next retry is due, in ms since the epoch; undefined: none is pending. */
  nextTry(time: ReconcileTime): number | undefined {
    const times = [...this.#byId.values()].map(({ retryAt }) => retryAt).filter(Number.isFinite);
    return times.length === 0 ? undefined : asDate(Math.min(...times), time);
  }
}
