import type { BuildPhase, BuildStep, RevisionBuild } from '../builds/build.ts';
import type { Condition, Reason } from '../conditions/conditions.ts';
import type { FailureSource, ReportedFailure } from '../conditions/failure-source.ts';
import type { ReportedSymptom } from '../conditions/symptoms.ts';
import type { RevisionStatus } from '../revision/states.ts';
import type { Observation } from './deployment.ts';

/** Reports of a listener about a deployment, and the parts of its record that they can change. Types of report-outcome.ts. */

export interface RevisionRef {
  readonly id: string;
  readonly number: number;
}

export interface FailedRef extends RevisionRef, ReportedFailure {}

export interface AppliedReport {
  readonly kind: 'applied';
  readonly deploymentId: string;
  readonly generation: number;
  /** Version of the applied work item. Absent: the listener is of an earlier version. */
  readonly workVersion?: number | undefined;
  /** Numbers of revisions whose environments do not exist in the cluster any more. */
  readonly goneEnvironments: readonly number[];
}

export interface RefusedReport {
  readonly kind: 'refused';
  readonly deploymentId: string;
  readonly generation: number;
  readonly reason: string;
  readonly message: string;
  readonly retryable: boolean;
  /** The listener keeps the item and retries it. The report only says what it waits for. */
  readonly waiting?: boolean;
}

/** The last observed state of the requested build (contract/resource/build.ts). */
export interface BuildReport {
  readonly revisionId: string;
  readonly phase: BuildPhase;
  /** The running or failed step. */
  readonly step?: BuildStep | undefined;
  readonly startedAt?: string | undefined;
  readonly finishedAt?: string | undefined;
  /** Pinned to its digest. */
  readonly image?: string | undefined;
  readonly commit?: string | undefined;
  readonly reason?: string | undefined;
  readonly message?: string | undefined;
}

/** Hosts that still have a route object. */
export interface RoutesReport {
  /** The generation that the operator used for this observation. */
  readonly generation: number;
  readonly hosts: readonly string[];
}

/** The image of a revision. */
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
  /** Absent or null: the operator is of an earlier version. */
  readonly routes?: RoutesReport | null;
  readonly active: RevisionRef | null;
  readonly rollout: RevisionRef | null;
  readonly failed: FailedRef | null;
  /** An in-place change of the active revision that failed and was rolled back. */
  readonly inPlaceFailure: ReportedFailure | null;
  /** Symptoms of running pods outside of a rollout. Absent: none, or the operator is of an earlier version. */
  readonly symptoms?: readonly ReportedSymptom[];
  /** Capacity of the database's volume in Gi; absent or null: what is wanted, or not known. */
  readonly volumeGi?: number | null;
  /** Absent or null: no build is requested. */
  readonly build?: BuildReport | null;
  /** Resolved images of revisions. Absent: none is known. */
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
  /** Its rollout was observed. Absent: never. */
  readonly started?: boolean;
  /** Known state of its build. Absent or null: none. */
  readonly build?: RevisionBuild | null;
}

/** The parts of the record that a report can change. */
export interface DeploymentFacts {
  readonly appName: string;
  readonly namespace: string;
  /** The history contains the loss of its listener, but not its return yet. */
  readonly listenerLost?: boolean;
  readonly deleting: boolean;
  /** Desired to be off: max_scale is 0. Absent: no, or not known. */
  readonly switchedOff?: boolean;
  /** Remaining grace period of the deletion. null: it is not being deleted, or the grace period is over and the purge is due. */
  readonly purgeInMs: number | null;
  readonly generation: number;
  readonly acknowledgedGeneration: number;
  /** How often the current generation was handed out. */
  readonly attempts: number;
  /** Version of its current work item. Absent: every version counts as current. */
  readonly workVersion?: number | undefined;
  readonly hasRunnableRevision: boolean;
  /** A finished revision ran or could have run, independent of those in progress. Absent: none. */
  readonly hasSettledRevision?: boolean;
  readonly active: RevisionRef | null;
  /** A failed in-place change of the active revision. null: the last one did not fail. */
  readonly inPlaceFailure: ReportedFailure | null;
  /** The last reported symptoms of running pods. Absent: none. */
  readonly symptoms?: readonly ReportedSymptom[];
  /** Capacity of the database's volume in Gi; absent or null: what is wanted, or not known. */
  readonly volumeGi?: number | null;
  /** The revision in work items of the current generation. null: none. */
  readonly wantedRevisionId: string | null;
  readonly observation: Observation | null;
  /** The shown conditions: those of the observation, or of a later rejection. */
  readonly conditions: readonly Condition[];
  /** The revisions that are not terminal, and those in the report. */
  readonly revisions: readonly RevisionFacts[];
}

export interface OutcomeMove {
  readonly id: string;
  readonly number: number;
  readonly from: RevisionStatus;
  readonly to: RevisionStatus;
  readonly reason: Reason;
  readonly message: string;
  /** Source of its failure. Absent: it did not fail, or the source is not known. */
  readonly failureSource?: FailureSource | undefined;
  /** Result of its build. Absent: no build ended. */
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

/** The effects of a report. */
export interface ReportOutcome {
  /** The record after the report. */
  readonly facts: DeploymentFacts;
  readonly moves: readonly OutcomeMove[];
  readonly events: readonly OutcomeEvent[];
  /** When the work item is due again, in milliseconds from now. null: unchanged. */
  readonly retryAfterMs: number | null;
  /** The cluster has no objects of the deleted deployment any more, so its record is deleted. */
  readonly remove: boolean;
  /** Why the report was ignored. null: it was accepted. */
  readonly ignored: string | null;
}
