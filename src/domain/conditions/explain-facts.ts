import type { Observation } from '../deployment/deployment.ts';
import type { ListenerStatus, RevisionStatus } from '../revision/states.ts';
import type { Condition, Reason } from './conditions.ts';
import type { EventReason } from './event-reasons.ts';
import type { FailureSource, ReportedFailure } from './failure-source.ts';
import type { Remedy } from './remedies.ts';
import type { ReportedSymptom } from './symptoms.ts';

/** Input and output types of explain.ts. */

/** A revision in the explanation of another revision. */
export interface RevisionName {
  readonly id: string;
  readonly number: number;
  readonly status: RevisionStatus;
  readonly createdAt: Date;
}

/** Why the hub cannot create the work item of a due deployment, for the history and for explain. */
export interface WorkBlocked {
  readonly reason: EventReason;
  /** A sentence that ends with a full stop. */
  readonly message: string;
}

/** The input, read at one point in time. */
export interface ExplainFacts {
  readonly now: Date;
  readonly revision: RevisionName & {
    readonly reason: string | null;
    readonly message: string | null;
    readonly failureSource: FailureSource | null;
    readonly updatedAt: Date;
  };
  readonly deployment: {
    readonly generation: number;
    /** The generation that the listener has applied to the cluster. 0: none. */
    readonly acknowledgedGeneration: number;
    readonly updatedAt: Date;
    readonly deleteRequestedAt: Date | null;
    /** End of the grace period of the deletion. null: the deployment is not being deleted. */
    readonly purgeAfter: Date | null;
    /** Whether max_scale is 0. */
    readonly switchedOff: boolean;
    /** Whether the owner has confirmed the removal of the volume of the database. Absent: false. */
    readonly removesVolume?: boolean;
    readonly latestRevisionId: string | null;
    /** The last reported conditions, unchanged. */
    readonly conditions: readonly Condition[];
    /**
     * An in-place change of the active revision that failed and was rolled back. null: the last change did not fail.
     */
    readonly inPlaceFailure: ReportedFailure | null;
    /** The last reported symptoms of running pods outside of a rollout. Absent: none. */
    readonly symptoms?: readonly ReportedSymptom[];
    readonly observation: Pick<Observation, 'generation' | 'observedAt'> | null;
    /**
     * Why a connected listener does not observe the deployment: it cannot read the namespace (`unseen`), or has not
     * reported its inventory after a reconnect (`returning`). Absent or null: the listener observes the deployment.
     */
    readonly unwatched?: 'unseen' | 'returning' | null;
    /** Why no work item can be created from the stored deployment. Absent or null: a work item can be created. */
    readonly workBlocked?: WorkBlocked | null;
  };
  readonly listener: {
    readonly status: ListenerStatus;
    readonly clusterReachable: boolean;
    readonly lastSeenAt: Date | null;
    readonly createdAt: Date;
  };
  /** The active revision according to the last report. null: no revision is active yet. */
  readonly active: RevisionName | null;
  /** The next newer revision that was not skipped. null: none. */
  readonly successor: RevisionName | null;
}

/** The object that a cause is about. */
export interface CauseObject extends FailureSource {
  readonly id?: string;
}

/** One link of the chain. */
export interface Cause {
  readonly level: 'revision' | 'deployment' | 'listener' | 'condition' | 'object';
  /** Type of the condition. null: the cause is not a condition. */
  readonly condition: string | null;
  readonly object: CauseObject | null;
  /** One of REASONS. A custom resource written by hand may contain any word. */
  readonly reason: string;
  readonly message: string;
  readonly at: Date;
  /** False: this is the last known state, because the cluster is not observed now. */
  readonly current: boolean;
  /** The remedy. Absent: the remedy of the reason (remedies.ts). */
  readonly remedy?: Remedy;
}

/** Whether the deployment is observed now. */
export const isCurrent = ({ deployment, listener }: ExplainFacts): boolean =>
  listener.status === 'CONNECTED' && (deployment.unwatched ?? null) === null;

type Link = Pick<Cause, 'level' | 'reason' | 'message' | 'at'> & Partial<Cause>;

/** A cause. By default, a cause is current and has no condition and no object. */
export const link = (cause: Link): Cause => ({ condition: null, object: null, current: true, ...cause });

/** Parses a time. Returns the fallback if the text is not a time. */
export function timeOf(text: string, fallback: Date): Date {
  const time = new Date(text);
  return Number.isNaN(time.getTime()) ? fallback : time;
}

/** For each status, the phrase that follows "Revision N", and the default reason. */
export const STATUS_WORDS: Readonly<Record<RevisionStatus, readonly [words: string, reason: Reason]>> = {
  CREATING: ['is being created', 'Reconciling'],
  CREATE_FAILED: ['could not be created', 'RolloutFailed'],
  AWAITING_BUILD: ['waits for its image to be built', 'AwaitingBuild'],
  BUILDING: ['is being built', 'AwaitingBuild'],
  BUILD_FAILED: ['could not be built', 'RolloutFailed'],
  QUEUED: ['waits to be applied to the cluster', 'Reconciling'],
  AWAITING_DEPLOY: ['is in the cluster and waits to start', 'AwaitingDataServices'],
  DEPLOYING: ['is being rolled out', 'RolloutInProgress'],
  DEPLOYED: ['was rolled out to every component', 'RolloutComplete'],
  DEPLOY_FAILED: ['failed to roll out', 'RolloutFailed'],
  SKIPPED: ['never started', 'Superseded'],
  INTERRUPTED: ['was interrupted during its rollout', 'Interrupted'],
  UNKNOWN: ['cannot be observed', 'ListenerLost'],
};

const UNITS = [
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
  ['second', 1],
] as const;

/** A duration such as `95 seconds` or `3 hours`, in the largest unit with a count of at least two. */
export function duration(seconds: number): string {
  const [unit, size] = UNITS.find(([, each]) => seconds >= 2 * each) ?? ['second', 1];
  const count = Math.max(0, Math.floor(seconds / size));
  return `${count} ${unit}${count === 1 ? '' : 's'}`;
}

/** Whole seconds from `then` to `now`, never negative, because clocks may differ. */
export function ageSeconds(now: Date, then: Date): number {
  return Math.max(0, Math.floor((now.getTime() - then.getTime()) / 1000));
}

/**
 * The time of the last confirmed state of the cluster. null: none. A connected listener whose cluster does not respond
 * confirms no state, so this is then the time of the last report.
 */
export function knownAt(facts: ExplainFacts): Date | null {
  const { listener, deployment } = facts;
  const { observation } = deployment;
  if (observation === null) return null;
  const { status, clusterReachable, lastSeenAt } = listener;
  const counts = isCurrent(facts) || (status === 'LOST' && clusterReachable);
  return counts && lastSeenAt !== null && lastSeenAt > observation.observedAt
    ? lastSeenAt
    : observation.observedAt;
}
