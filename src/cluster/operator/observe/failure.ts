import type { Reason } from '../../../domain/conditions/conditions.ts';

/** An action that failed. */
export interface Failure {
  /** Id of the action. */
  readonly actionId: string;
  readonly reason: Extract<
    Reason,
    | 'Refused'
    | 'QuotaExceeded'
    | 'Conflict'
    | 'VolumeNotExpandable'
    | 'ReconcileFailed'
    | 'CredentialsLost'
    | 'EnvironmentMissing'
    | 'NamespaceTerminating'
    | 'FieldsChangedByCluster'
  >;
  /**
   * Whether a retry cannot succeed until a person changes the spec or the cluster, because the content of the object was
   * rejected, not the sender.
   */
  readonly final: boolean;
  /** Object, field and error of the cluster. */
  readonly message: string;
  /** Maximum time until the retry, in milliseconds, if another component is about to fix the cause. */
  readonly retryWithinMs?: number;
}

/**
 * A precondition of an action does not hold: an object is missing, or belongs to another owner. The message contains
 * no secret value.
 */
export class UnmetRequirement extends Error {
  readonly reason: Failure['reason'];

  constructor(reason: Failure['reason'], message: string) {
    super(message);
    this.reason = reason;
  }
}
