import type { BuildPhase, BuildStep, RevisionBuild } from '../builds/build.ts';
import type { Condition, Reason } from '../conditions/conditions.ts';
import type { Culprit, ReportedFailure } from '../conditions/failure-source.ts';
import type { ReportedSymptom } from '../conditions/symptoms.ts';
import type { RevisionStatus } from '../revision/states.ts';
import type { Observation } from './deployment.ts';

/** What a listener reports of one deployment, and what of its record that concerns. Vocabulary of report-outcome.ts. */

export interface RevisionRef {
  readonly id: string;
  readonly number: number;
}

export interface FailedRef extends RevisionRef, ReportedFailure {}

export interface AppliedReport {
  readonly kind: 'applied';
  readonly deploymentId: string;
  readonly generation: number;
  /** Of the item that was applied; absent: an earlier listener does not tell. */
  readonly workVersion?: number | undefined;
  /** Numbers of revisions whose environments are not in the cluster any more. */
  readonly goneEnvironments: readonly number[];
}

export interface RefusedReport {
  readonly kind: 'refused';
  readonly deploymentId: string;
  readonly generation: number;
  readonly reason: string;
  readonly message: string;
  readonly retryable: boolean;
  /** The listener keeps the item and tries again by itself; this only says what it waits for. */
  readonly waiting?: boolean;
}

/** The build that the cluster is asked for, as last observed (contract/resource/build.ts). */
export interface BuildReport {
  readonly revisionId: string;
  readonly phase: BuildPhase;
  /** The step that runs, or that failed. */
  readonly step?: BuildStep | undefined;
  readonly startedAt?: string | undefined;
  readonly finishedAt?: string | undefined;
  /** Pinned to its digest. */
  readonly image?: string | undefined;
  readonly commit?: string | undefined;
  readonly reason?: string | undefined;
  readonly message?: string | undefined;
}

/** Which hosts still have a route object. */
export interface RoutesReport {
  /** That the operator went by when it saw this. */
  readonly generation: number;
  readonly hosts: readonly string[];
}

/** Which image a revision runs. */
export interface ImageReport {
  readonly revisionId: string;
  /** Pinned to its digest. */
  readonly image: string;
}

export interface ObservedReport {
  readonly kind: 'observed';
  readonly deploymentId: string;
  readonly name: string;
  readonly namespace: string;
  readonly specGeneration: number;
  readonly conditions: readonly Condition[];
  readonly off: boolean;
  readonly url: string | null;
  /** Absent or null: an earlier operator does not tell. */
  readonly routes?: RoutesReport | null;
  readonly active: RevisionRef | null;
  readonly rollout: RevisionRef | null;
  readonly failed: FailedRef | null;
  /** Of the active revision: what was changed of it did not come up, and was turned back. */
  readonly inPlaceFailure: ReportedFailure | null;
  /** What is wrong with running pods outside of a rollout; absent: nothing is, or an earlier operator does not tell. */
  readonly symptoms?: readonly ReportedSymptom[];
  /** Capacity of the database's volume in Gi; absent or null: what is wanted, or not known. */
  readonly volumeGi?: number | null;
  /** Absent or null: none is asked for. */
  readonly build?: BuildReport | null;
  /** Images by their digests, as far as revisions were resolved to them; absent: none is known. */
  readonly images?: readonly ImageReport[];
}

export interface PurgedReport {
  readonly kind: 'purged';
  readonly deploymentId: string;
}

export type ClusterReport = AppliedReport | RefusedReport | ObservedReport | PurgedReport;

export interface RevisionFacts {
  readonly id: string;
  readonly number: number;
  readonly status: RevisionStatus;
  /** It was seen to roll; absent: never. */
  readonly started?: boolean;
  /** What is known of its build; absent or null: nothing. */
  readonly build?: RevisionBuild | null;
}

/** The record as far as a report can change it. */
export interface DeploymentFacts {
  readonly appName: string;
  readonly namespace: string;
  /** The loss of its listener was written to the history, and not yet its return. */
  readonly listenerLost?: boolean;
  readonly deleting: boolean;
  /** It is wanted off: max_scale is 0; absent: it is not, or nobody knows. */
  readonly switchedOff?: boolean;
  /** How long the deletion's grace still lasts; null: nothing is being deleted, or it is over and the purge is due. */
  readonly purgeInMs: number | null;
  readonly generation: number;
  readonly acknowledgedGeneration: number;
  /** How often the present generation was handed out. */
  readonly attempts: number;
  /** Of its work item as it is now; absent: any one is the latest. */
  readonly workVersion?: number | undefined;
  readonly hasRunnableRevision: boolean;
  /** A revision has run or could have, whatever becomes of those that are under way; absent: none. */
  readonly hasSettledRevision?: boolean;
  readonly active: RevisionRef | null;
  /** A change of the active revision in place that failed; null: the last one did not. */
  readonly inPlaceFailure: ReportedFailure | null;
  /** What is wrong with running pods, as last reported; absent: nothing is. */
  readonly symptoms?: readonly ReportedSymptom[];
  /** Capacity of the database's volume in Gi; absent or null: what is wanted, or not known. */
  readonly volumeGi?: number | null;
  /** The revision that work items of the present generation say; null: none. */
  readonly wantedRevisionId: string | null;
  readonly observation: Observation | null;
  /** Conditions as shown; those of the observation, or of a refusal after it. */
  readonly conditions: readonly Condition[];
  /** The revisions that are not terminal, and those that the report names. */
  readonly revisions: readonly RevisionFacts[];
}

export interface OutcomeMove {
  readonly id: string;
  readonly number: number;
  readonly from: RevisionStatus;
  readonly to: RevisionStatus;
  readonly reason: Reason;
  readonly message: string;
  /** What made it fail; absent: nothing did, or it is not known. */
  readonly culprit?: Culprit | undefined;
  /** What its build made; absent: this is not the end of one. */
  readonly built?: BuiltImage | undefined;
}

export interface BuiltImage {
  /** Pinned to its digest. */
  readonly image: string;
  readonly commit: string;
}

export interface OutcomeEvent {
  readonly revisionId: string | null;
  readonly reason: Reason;
  readonly message: string;
  readonly details: Readonly<Record<string, unknown>>;
}

/** What a report changes. */
export interface ReportOutcome {
  /** The record afterwards. */
  readonly facts: DeploymentFacts;
  readonly moves: readonly OutcomeMove[];
  readonly events: readonly OutcomeEvent[];
  /** When the work item comes again, in milliseconds from now; null: as it was. */
  readonly retryAfterMs: number | null;
  /** The cluster is clean of a deployment to be deleted: its record goes. */
  readonly remove: boolean;
  /** Why nothing was taken from the report; null: it was taken. */
  readonly ignored: string | null;
}
