import type { Condition, Reason } from './conditions.ts';
import type { Culprit } from './culprit.ts';
import type { Observation } from './deployment.ts';
import type { RevisionStatus } from './states.ts';

/** What a listener reports of one deployment, and what of its record that concerns. Vocabulary of report-outcome.ts. */

export interface RevisionRef {
  readonly id: string;
  readonly number: number;
}

export interface FailedRef extends RevisionRef {
  readonly reason: string;
  readonly message: string;
  readonly culprit?: Culprit | undefined;
}

export interface AppliedReport {
  readonly kind: 'applied';
  readonly deploymentId: string;
  readonly generation: number;
}

export interface RefusedReport {
  readonly kind: 'refused';
  readonly deploymentId: string;
  readonly generation: number;
  readonly reason: string;
  readonly message: string;
  readonly retryable: boolean;
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
  readonly active: RevisionRef | null;
  readonly rollout: RevisionRef | null;
  readonly failed: FailedRef | null;
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
}

/** The record as far as a report can change it. */
export interface DeploymentFacts {
  readonly appName: string;
  readonly namespace: string;
  /** The loss of its listener was written to the history, and not yet its return. */
  readonly listenerLost?: boolean;
  readonly deleting: boolean;
  /** How long the deletion's grace still lasts; null: nothing is being deleted, or it is over and the purge is due. */
  readonly purgeInMs: number | null;
  readonly generation: number;
  readonly acknowledgedGeneration: number;
  /** How often the present generation was handed out. */
  readonly attempts: number;
  readonly hasRunnableRevision: boolean;
  readonly active: RevisionRef | null;
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
