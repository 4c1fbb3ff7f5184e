import type { SignInFailure } from '../../../domain/access/identity-provider.ts';
import type { BranchPollFailure } from '../../../domain/builds/branch-poll.ts';
import type { ProgressMeasure } from '../../../domain/revision/progress.ts';

export type SignInMethod = 'identity_provider' | 'api_key';
/** `without_role`: the person has no role in the policy. Other failures: domain/access/identity-provider.ts. */
export type SignInResult = 'signed_in' | 'without_role' | SignInFailure;

/** Receives the measurements of the API. Every method is fast and does not throw. */
export interface ApiObserver {
  /**
   * Called when a request begins. The caller must call the returned function at the end of the request. @param route
   * template of the route, as registered
   */
  began(route: string): () => void;
  answered(answer: {
    readonly method: string;
    /** The template of the route, as registered. */
    readonly route: string;
    /** `aborted`: the client disconnected before it had received the response. */
    readonly status: number | 'aborted';
    /** Whether the request failed because of a cluster or its listener, so that the hub works as intended. */
    readonly ofCluster: boolean;
    /** Whether the response waits for events. */
    readonly waits: boolean;
    readonly seconds: number;
  }): void;
  /** Called when a work item was handed to a listener. */
  handedOut(kind: 'apply' | 'purge'): void;
  /** Called when a report of a listener was accepted. */
  reported(kind: string): void;
  /** Called when a report changed nothing, because it was late, repeated, or of another object. */
  ignored(): void;
  /** Called with results of rollouts, builds and deployments that reports caused. */
  progressed(measure: ProgressMeasure): void;
  /** Called with an authenticated webhook delivery. */
  delivered(result: 'taken' | 'repeated' | 'ignored'): void;
  /** Called with the result of an attempt to sign in. */
  signedIn(method: SignInMethod, result: SignInResult): void;
  /** Called with the result of the poll of a branch. */
  polled(result: 'seen' | BranchPollFailure): void;
  /** Called when the token of a workload was exchanged. `unavailable`: the keys of its issuer could not be read. */
  exchanged(result: 'issued' | 'rejected' | 'unavailable'): void;
  /** Called with each step of a login that a person confirms. `replayed`: a device code was used twice. */
  deviceLogin(step: 'started' | 'approved' | 'denied' | 'issued' | 'replayed'): void;
  /** Called once, with a function that returns the number of open streams of changes. */
  streaming(count: () => number): void;
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
  signedIn: () => undefined,
  polled: () => undefined,
  exchanged: () => undefined,
  deviceLogin: () => undefined,
  streaming: () => undefined,
};
