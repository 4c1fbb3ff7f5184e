import type { BranchPollFailure } from '../../../domain/builds/branch-poll.ts';
import type { ProgressMeasure } from '../../../domain/revision/progress.ts';

/** What the API tells whoever measures it. Every method is quick and throws nothing. */
export interface ApiObserver {
  /** A request has come; call what is returned when it is over. @param route its template, as registered */
  began(route: string): () => void;
  answered(answer: {
    readonly method: string;
    /** Its template, as registered. */
    readonly route: string;
    /** `aborted`: its client was gone before it had the whole answer. `cluster`: it failed, and a cluster is at fault. */
    readonly status: number | 'aborted' | 'cluster';
    /** The route's answers wait for something to happen. */
    readonly waits: boolean;
    readonly seconds: number;
  }): void;
  /** Work items were given to a listener. */
  handedOut(kind: 'apply' | 'purge'): void;
  /** Reports of a listener were taken. */
  reported(kind: string): void;
  /** A report changed nothing: late, repeated, or of something else. */
  ignored(): void;
  /** What reports made of rollouts, builds and deployments. */
  progressed(measure: ProgressMeasure): void;
  /** A webhook that knew its secret. */
  delivered(result: 'taken' | 'repeated' | 'ignored'): void;
  /** A look at a branch. */
  looked(result: 'seen' | BranchPollFailure): void;
}

/** Measures nothing. */
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
