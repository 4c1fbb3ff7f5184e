import type { Reason } from '../../../domain/conditions/conditions.ts';

/** Something that the cluster did not let us do. */
export interface Failure {
  /** Of the action that failed. */
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
  /** Only another object can help: what it is was refused, not who sent it. */
  readonly final: boolean;
  /** Object, field and what the cluster says. */
  readonly message: string;
  /** Somebody else is about to mend it: looked at again after this many milliseconds at the latest. */
  readonly retryWithinMs?: number;
}

/** Something that the action needs is not there, or is somebody else's. The message names no secret value. */
export class UnmetRequirement extends Error {
  readonly reason: Failure['reason'];

  constructor(reason: Failure['reason'], message: string) {
    super(message);
    this.reason = reason;
  }
}
