import type { ResourceFailureSource } from '../../../contract/resource/resource-failure-source.ts';
import { APP_CONTAINER_NAME } from '../../../domain/deployment/reserved.ts';
import type { TaskReason } from '../../../domain/tasks/task.ts';
import type { Observed, ObservedPod } from '../observed.ts';
import type { RolloutFailure } from '../rollout/judge-rollout.ts';
import { shortened } from '../status/conditions.ts';
import type { TaskResource } from '../tasks/observed-task.ts';
import type { ReleaseRecord } from './release.ts';

/** Why a release has failed. Pure. */

/** Maximum length of the last lines of the output. */
const MAX_DETAIL = 2048;

/** What ended a release that did not end by itself. */
const ENDED_BY: Readonly<Partial<Record<TaskReason, string>>> = {
  DeploymentOff: 'it was ended, because the deployment was switched off',
  DeploymentDeleting: 'it was ended, because the deployment was to be deleted',
  Superseded: 'it was ended, because a newer revision was requested',
};

/** Whether a revision has failed because of its release command, so that no pod of it has started. */
export const isOfRelease = (reason: string): boolean =>
  reason === 'ReleaseFailed' || reason === 'ReleaseLost';

/** @param task the task of the recorded Job; undefined: it does not exist */
export function releaseFailure(
  record: ReleaseRecord,
  task: TaskResource | undefined,
  observed: Observed,
): RolloutFailure {
  const source = { component: 'api', kind: 'DeploymentTask', object: record.task };
  if (task === undefined) {
    const message = `the release command is lost: the task ${record.task} was deleted by another account. Check what the command did`;
    return { reason: 'ReleaseLost', message, failureSource: source };
  }
  const { reason, message, exitCode, state } = task.status ?? {};
  const known = ENDED_BY[reason as TaskReason];
  const why = known ?? message ?? (state === 'CANCELLED' ? 'it was cancelled' : (reason ?? ''));
  if (reason === 'JobLost') {
    const lost = `the release command is lost: ${why}. Check what the command did`;
    return { reason: 'ReleaseLost', message: lost, failureSource: source };
  }
  return {
    reason: 'ReleaseFailed',
    message: `the release command failed: ${why}`,
    failureSource: {
      ...source,
      ...(exitCode === undefined ? {} : { exitCode }),
      ...lastLines(observed.releasePod?.status),
    },
  };
}

/** The last lines of the container that failed. Credentials in it are masked when the pod is cached. */
function lastLines({
  containerStatuses = [],
  initContainerStatuses = [],
}: NonNullable<ObservedPod['status']> = {}): Pick<
  ResourceFailureSource,
  'container' | 'containerKind' | 'detail'
> {
  const failed = [...containerStatuses, ...initContainerStatuses].find(
    ({ state }) => state?.terminated !== undefined && state.terminated.exitCode !== 0,
  );
  const text = failed?.state?.terminated?.message;
  if (failed === undefined) return {};
  const isApp = failed.name === APP_CONTAINER_NAME;
  return {
    container: failed.name,
    containerKind: isApp ? 'app' : 'init',
    ...(text ? { detail: shortened(text, MAX_DETAIL) } : {}),
  };
}
