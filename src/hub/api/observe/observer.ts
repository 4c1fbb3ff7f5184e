import type { BranchPollFailure } from '../../../domain/builds/branch-poll.ts';
import type { ProgressMeasure } from '../../../domain/revision/progress.ts';

/** Receives the measurements of the API. Every method is fast and does not throw. */
export interface ApiObserver {
  /** A request has begun. Call the returned function at its end. @param route its template, as registered */
  began(route: string): () => void;
  answered(answer: {
    readonly method: string;
    /** The template of the route, as registered. */
    readonly route: string;
    /**
     * `aborted`: the client disconnected before it had received the response. `cluster`: the request failed because of
     * a cluster.
     */
    readonly status: number | 'aborted' | 'cluster';
    /** The responses of the route wait for events. */
    readonly waits: boolean;
    readonly seconds: number;
  }): void;
  /** Work items were handed to a listener. */
  handedOut(kind: 'apply' | 'purge'): void;
  /** Reports of a listener were accepted. */
  reported(kind: string): void;
  /** A report changed nothing: it was late, repeated, or of another object. */
  ignored(): void;
  /** Results of rollouts, builds and deployments that reports caused. */
  progressed(measure: ProgressMeasure): void;
  /** An authenticated webhook delivery. */
  delivered(result: 'taken' | 'repeated' | 'ignored'): void;
  /** A poll of a branch. */
  looked(result: 'seen' | BranchPollFailure): void;
}

/** Discards all measurements. */
export const UNOBSERVED: ApiObserver = {
  began: () => () => undefined,
  answered: () => undefined,
  handedOut: () => undefined,
  reported: () => undefined,
  ignored: () => undefined,
  progressed: () => undefined,
  delivered: () => undefined,
  looked: () => undefined,
};
