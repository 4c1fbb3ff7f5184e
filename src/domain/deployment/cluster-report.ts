import type { DomainsReport } from '../app-hosts/domain-status.ts';
import type { BuildPhase, BuildStep, RevisionBuild } from '../builds/build.ts';
import type { Condition } from '../conditions/conditions.ts';
import type { EventReason } from '../conditions/event-reasons.ts';
import type { FailureSource, ReportedFailure } from '../conditions/failure-source.ts';
import type { ReportedSymptom } from '../conditions/symptoms.ts';
import type { RevisionStatus } from '../revision/states.ts';
import type { Procfile } from '../run-settings/procfile.ts';
import type { Observation } from './deployment.ts';

/**
 * Types of report-outcome.ts: reports of a listener about a deployment, and the parts of its record that the reports
 * can change.
 */

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
  /** Numbers of revisions whose environments no longer exist in the cluster. */
  readonly goneEnvironments: readonly number[];
}

export interface RefusedReport {
  readonly kind: 'refused';
  readonly deploymentId: string;
  readonly generation: number;
  readonly reason: string;
  readonly message: string;
  readonly retryable: boolean;
  /** Whether the listener keeps the item and retries it. The report then only states what the item waits for. */
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
  /** The image, pinned to its digest. */
  readonly image?: string | undefined;
  readonly commit?: string | undefined;
  /** The commands of the Procfile. Absent: the repository has no Procfile. */
  readonly procfile?: Procfile | undefined;
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
  /** The image, pinned to its digest. */
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
  /** Absent or null: the operator has an earlier version. */
  readonly routes?: RoutesReport | null;
  /** Absent or null: there are no additional hosts, or the operator has an earlier version. */
  readonly domains?: DomainsReport | null;
  readonly active: RevisionRef | null;
  readonly rollout: RevisionRef | null;
  readonly failed: FailedRef | null;
  /** An in-place change of the active revision that failed and was rolled back. */
  readonly inPlaceFailure: ReportedFailure | null;
  /** Symptoms of running pods outside of a rollout. Absent: no symptoms, or the operator has an earlier version. */
  readonly symptoms?: readonly ReportedSymptom[];
  /** Capacity of the database's volume in Gi; absent or null: the desired size, or not known. */
  readonly volumeGi?: number | null;
  /** Absent or null: no build is requested. */
  readonly build?: BuildReport | null;
  /** Resolved images of revisions. Absent: no resolved image is known. */
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
  /** Whether the rollout of the revision was observed. Absent: never. */
  readonly started?: boolean;
  /** Known state of the build of the revision. Absent or null: no state is known. */
  readonly build?: RevisionBuild | null;
}

/** The parts of the record that a report can change. */
export interface DeploymentFacts {
  readonly appName: string;
  readonly namespace: string;
  /** Whether the history contains the loss of the listener, but not its return yet. */
  readonly listenerLost?: boolean;
  readonly deleting: boolean;
  /**
   * Whether the desired state is off (max_scale 0). Absent: the deployment is not off, or the desired state is not
   * known.
   */
  readonly switchedOff?: boolean;
  /**
   * Remaining grace period of the deletion. null: the deployment is not being deleted, or the grace period has ended
   * and the purge is due.
   */
  readonly purgeInMs: number | null;
  readonly generation: number;
  readonly acknowledgedGeneration: number;
  /** How often the current generation was handed out. */
  readonly attempts: number;
  /** Version of the current work item. Absent: every version counts as current. */
  readonly workVersion?: number | undefined;
  readonly hasRunnableRevision: boolean;
  /**
   * Whether a finished revision ran or could have run, independent of the revisions in progress. Absent: no finished
   * revision.
   */
  readonly hasSettledRevision?: boolean;
  readonly active: RevisionRef | null;
  /** A failed in-place change of the active revision. null: the last change did not fail. */
  readonly inPlaceFailure: ReportedFailure | null;
  /** The last reported symptoms of running pods. Absent: none. */
  readonly symptoms?: readonly ReportedSymptom[];
  /** Capacity of the database's volume in Gi; absent or null: the desired size, or not known. */
  readonly volumeGi?: number | null;
  /** The revision in work items of the current generation. null: no revision. */
  readonly wantedRevisionId: string | null;
  readonly observation: Observation | null;
  /** The conditions that the API shows: those of the observation, or of a later rejection. */
  readonly conditions: readonly Condition[];
  /** The revisions that are not in a terminal state, and the revisions in the report. */
  readonly revisions: readonly RevisionFacts[];
}

export interface OutcomeMove {
  readonly id: string;
  readonly number: number;
  readonly from: RevisionStatus;
  readonly to: RevisionStatus;
  readonly reason: EventReason;
  readonly message: string;
  /** Source of the failure of the revision. Absent: the revision did not fail, or the source is not known. */
  readonly failureSource?: FailureSource | undefined;
  /** Result of the build of the revision. Absent: no build ended. */
  readonly built?: BuiltImage | undefined;
}

export interface BuiltImage {
  /** The image, pinned to its digest. */
  readonly image: string;
  /** Absent: the image was built from an uploaded folder. */
  readonly commit?: string | undefined;
  readonly procfile?: Procfile | undefined;
}

export interface OutcomeEvent {
  readonly revisionId: string | null;
  readonly reason: EventReason;
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
  /** Whether the record is deleted, because the cluster has no more objects of the deleted deployment. */
  readonly remove: boolean;
  /** Why the report was ignored. null: it was accepted. */
  readonly ignored: string | null;
}
