import type { Observation } from '../deployment/deployment.ts';
import type { ListenerStatus, RevisionStatus } from '../revision/states.ts';
import type { Condition, Reason } from './conditions.ts';
import type { Culprit, ReportedFailure } from './failure-source.ts';
import type { Remedy } from './remedies.ts';
import type { ReportedSymptom } from './symptoms.ts';

/** What explain.ts looks at and what it answers with. */

/** A revision as another one is explained by it. */
export interface RevisionName {
  readonly id: string;
  readonly number: number;
  readonly status: RevisionStatus;
  readonly createdAt: Date;
}

/** Why a due record makes no item: as the history tells it, and what explains its revisions. */
export interface WorkBlocked {
  readonly reason: Reason;
  /** Ends with a full stop. */
  readonly message: string;
}

/** All that is looked at; of one moment. */
export interface ExplainFacts {
  readonly now: Date;
  readonly revision: RevisionName & {
    readonly reason: string | null;
    readonly message: string | null;
    readonly culprit: Culprit | null;
    readonly updatedAt: Date;
  };
  readonly deployment: {
    readonly generation: number;
    /** The generation that the listener has brought to the cluster; 0: none. */
    readonly acknowledgedGeneration: number;
    readonly updatedAt: Date;
    readonly deleteRequestedAt: Date | null;
    /** End of the deletion's grace; null: it is wanted. */
    readonly purgeAfter: Date | null;
    /** max_scale is 0. */
    readonly switchedOff: boolean;
    readonly latestRevisionId: string | null;
    /** As last reported, uncorrected. */
    readonly conditions: readonly Condition[];
    /** A change of the active revision in place that failed and was turned back; null: the last one did not. */
    readonly inPlaceFailure: ReportedFailure | null;
    /** What is wrong with running pods outside of a rollout, as last reported; absent: nothing is. */
    readonly symptoms?: readonly ReportedSymptom[];
    readonly observation: Pick<Observation, 'generation' | 'observedAt'> | null;
    /**
     * Why a listener that is connected does not look at it: it cannot read the namespace, or has not told yet what it found
     * since it was away. Absent or null: it does.
     */
    readonly unwatched?: 'unseen' | 'returning' | null;
    /** Why what is wanted cannot be handed to the listener as it is stored. Absent or null: it can. */
    readonly workBlocked?: WorkBlocked | null;
  };
  readonly listener: {
    readonly status: ListenerStatus;
    readonly clusterReachable: boolean;
    readonly lastSeenAt: Date | null;
    readonly createdAt: Date;
  };
  /** The revision that runs now, or ran when last seen; null: none yet. */
  readonly active: RevisionName | null;
  /** The first newer revision that was not itself skipped; null: there is none newer. */
  readonly successor: RevisionName | null;
}

/** What a cause is about, where that is one thing. */
export interface CauseObject extends Culprit {
  readonly id?: string;
}

/** One link of the chain. */
export interface Cause {
  readonly level: 'revision' | 'deployment' | 'listener' | 'condition' | 'object';
  /** Type of the condition; null: it is about none. */
  readonly condition: string | null;
  readonly object: CauseObject | null;
  /** Of REASONS; of a custom resource written by hand: any word. */
  readonly reason: string;
  readonly message: string;
  readonly at: Date;
  /** False: so it was when last seen; the cluster is not observed now. */
  readonly current: boolean;
  /** What to do about it; absent: what its reason says (remedies.ts). */
  readonly remedy?: Remedy;
}

/** Whether somebody looks at the deployment now. */
export const isCurrent = ({ deployment, listener }: ExplainFacts): boolean =>
  listener.status === 'CONNECTED' && (deployment.unwatched ?? null) === null;

type Link = Pick<Cause, 'level' | 'reason' | 'message' | 'at'> & Partial<Cause>;

/** A link of the chain that is about no condition and no object, and true now, unless it says so. */
export const link = (cause: Link): Cause => ({ condition: null, object: null, current: true, ...cause });

/** `text` as a time, where it is one. */
export function timeOf(text: string, fallback: Date): Date {
  const time = new Date(text);
  return Number.isNaN(time.getTime()) ? fallback : time;
}

/** What each state means, after "Revision N", and its reason where the revision carries none. */
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

/** `95 seconds`, `3 hours`: whole units, of which there are at least two where possible. */
export function duration(seconds: number): string {
  const [unit, size] = UNITS.find(([, each]) => seconds >= 2 * each) ?? ['second', 1];
  const count = Math.max(0, Math.floor(seconds / size));
  return `${count} ${unit}${count === 1 ? '' : 's'}`;
}

/** Whole seconds from `then` until `now`, never negative: clocks may differ. */
export function ageSeconds(now: Date, then: Date): number {
  return Math.max(0, Math.floor((now.getTime() - then.getTime()) / 1000));
}

/**
 * When what is known of the cluster was last true for sure; null: nothing is known. A listener that is heard of while
 * its cluster does not answer adds no knowledge: then it is as old as the last report.
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
