import { startOf } from './judge-run.ts';
import { hasTaskEnded, type ObservedTask } from './observed-task.ts';

/**
 * The rules for the task of a release. Its Job starts when the status of the deployment has recorded it. Until then, the
 * operator of the deployment decides how long the task waits. Pure.
 */

/**
 * A release whose Job is missing or suspended, and whose uid the deployment does not have, has not started. The uid in its own
 * status does not matter then, so that its Job can be created again.
 */
export function withReleaseUid(observed: ObservedTask): ObservedTask {
  const { task, job } = observed;
  const { jobUid, ...status } = task.status ?? {};
  const mayHaveStarted = job !== null && job.spec?.suspend !== true;
  if (!isRelease(observed) || hasTaskEnded(task) || mayHaveStarted || isRecorded(observed, jobUid))
    return observed;
  return { ...observed, task: { ...task, status } };
}

/** Whether the task runs a release command. */
export const isRelease = ({ task }: ObservedTask): boolean => task.spec.origin === 'release';

/** Whether the status of the deployment has the uid of the Job of a release. Until then, the release has not started. */
export function isRecorded({ deployment }: ObservedTask, jobUid: string | undefined): boolean {
  return jobUid !== undefined && deployment?.resource.status?.release?.jobUid === jobUid;
}

/** Whether a newer revision is desired than that of a release which has not started. */
export function isSuperseded({ task, deployment, pod }: ObservedTask): boolean {
  const hasStarted = task.status?.state === 'RUNNING' || startOf(pod) !== undefined;
  // A cache may show an older revision than that of the task.
  const desired = deployment?.resource.spec.revision.number ?? 0;
  return !hasStarted && desired > (task.spec.revision ?? 0);
}
