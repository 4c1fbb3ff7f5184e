import type { FailureSource } from '../../domain/conditions/failure-source.ts';
import type { ManagedDeploymentStatus } from './managed-deployment-status.ts';

interface StoredFailure {
  readonly failureSource?: FailureSource | undefined;
  readonly culprit?: FailureSource | undefined;
}

function renamed<Failure extends StoredFailure>(failure: Failure): Failure {
  const { culprit, ...current } = failure;
  return culprit === undefined ? failure : ({ failureSource: culprit, ...current } as Failure);
}

/**
 * A status that the previous version may have written, with the names of this version: `culprit` is now failureSource. The
 * next write of the status stores the new name.
 */
export function currentStatus(status: ManagedDeploymentStatus): ManagedDeploymentStatus {
  const { failedRevision, failedChange, symptoms } = status;
  return {
    ...status,
    ...(failedRevision === undefined ? {} : { failedRevision: renamed(failedRevision) }),
    ...(failedChange === undefined ? {} : { failedChange: renamed(failedChange) }),
    ...(symptoms === undefined ? {} : { symptoms: symptoms.map(renamed) }),
  };
}
