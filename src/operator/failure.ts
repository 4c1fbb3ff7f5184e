import type { Reason } from '../domain/conditions.ts';

/** Something that the cluster did not let us do. */
export interface Failure {
  /** Of the action that failed. */
  readonly actionId: string;
  readonly reason: Extract<Reason, 'Refused' | 'Conflict' | 'VolumeNotExpandable' | 'ReconcileFailed'>;
  /** Only another object can help: what it is was refused, not who sent it. */
  readonly final: boolean;
  /** Object, field and what the cluster says. */
  readonly message: string;
}
