import { APP_CONTAINER_NAME } from '../../../domain/deployment/reserved.ts';
import type { TaskReason, TaskState } from '../../../domain/tasks/task.ts';
import { hasEnded } from '../../kube/client/object.ts';
import type { ObservedContainer, ObservedPod } from '../observed.ts';

/** Judges the run of a task from its pod. Pure. The result contains no output. */

/** What Job and pod show of the command. */
export interface Run {
  readonly state: TaskState;
  readonly reason?: TaskReason | undefined;
  readonly message?: string | undefined;
  readonly exitCode?: number | undefined;
  readonly startTime?: string | undefined;
  /** Absent: not final, or the cluster does not report the time. */
  readonly completionTime?: string | undefined;
}

/** Exit codes of a program that was ended by SIGKILL or SIGTERM. */
const ENDED_BY_SIGNAL = [137, 143];
/** Reasons of a container whose exit was not observed. */
const NOT_OBSERVED = /^(ContainerStatusUnknown|Unknown)$/;
/** Reasons of a container that could not be started, for example because the program does not exist. */
const NOT_STARTED = /^(StartError|ContainerCannotRun)$/;

const appOf = (pod: ObservedPod): ObservedContainer | undefined =>
  pod.status?.containerStatuses?.find(({ name }) => name === APP_CONTAINER_NAME);

/** When the command started, if a pod shows it. */
export function startOf(pod: ObservedPod | null): string | undefined {
  const { running, terminated } = (pod === null ? undefined : appOf(pod))?.state ?? {};
  return running?.startedAt ?? terminated?.startedAt;
}

/**
 * The end that the pod shows; null: the command may still run or start.
 * @param isStopping whether the operator has ended the Job
 */
export function endOfPod(pod: ObservedPod, timeoutSeconds: number, isStopping: boolean): Run | null {
  const terminated = appOf(pod)?.state?.terminated;
  if (terminated !== undefined) return endOfCommand(pod, terminated, timeoutSeconds, isStopping);
  if (!hasEnded(pod)) return null;
  if (pod.status?.reason === 'DeadlineExceeded') {
    const startTime = startOf(pod);
    return startTime === undefined
      ? { state: 'FAILED', reason: 'NotStarted', message: 'its pod did not start before the timeout' }
      : timedOut(timeoutSeconds, startTime);
  }
  return initFailure(pod) ?? podLost(pod);
}

type Terminated = NonNullable<NonNullable<ObservedContainer['state']>['terminated']>;

function endOfCommand(
  pod: ObservedPod,
  terminated: Terminated,
  timeoutSeconds: number,
  isStopping: boolean,
): Run | null {
  const { exitCode, reason = '', startedAt: startTime, finishedAt: completionTime } = terminated;
  const times = { startTime, completionTime };
  if (exitCode === 0) return { state: 'SUCCEEDED', exitCode, ...times };
  if (pod.status?.reason === 'DeadlineExceeded' || ranOut(terminated, timeoutSeconds))
    return { ...timedOut(timeoutSeconds, startTime), completionTime };
  // The deletion of the Job has ended the command. Why it was deleted decides the state.
  if (isStopping) return null;
  if (NOT_OBSERVED.test(reason) || wasDisrupted(pod)) return { ...podLost(pod), ...times };
  if (reason === 'OOMKilled') {
    const message = 'the command ran out of memory';
    return { state: 'FAILED', reason: 'OutOfMemory', message, exitCode, ...times };
  }
  const message = NOT_STARTED.test(reason)
    ? 'the command could not be started: check that the image has the program'
    : `the command ended with exit code ${exitCode}`;
  return { state: 'FAILED', reason: 'CommandFailed', message, exitCode, ...times };
}

/** Whether a signal ended the command after its timeout. The pod may not show the reason yet. */
function ranOut({ exitCode, startedAt, finishedAt }: Terminated, timeoutSeconds: number): boolean {
  const ran = Date.parse(finishedAt ?? '') - Date.parse(startedAt ?? '');
  return ENDED_BY_SIGNAL.includes(exitCode) && ran >= timeoutSeconds * 1000;
}

export const timedOut = (timeoutSeconds: number, startTime: string | undefined): Run => ({
  state: 'TIMED_OUT',
  reason: 'TimedOut',
  message: `the command did not end within ${timeoutSeconds} s`,
  startTime,
});

function initFailure(pod: ObservedPod): Run | null {
  const failed = pod.status?.initContainerStatuses?.find(
    ({ state }) => state?.terminated !== undefined && state.terminated.exitCode !== 0,
  );
  if (failed === undefined) return null;
  const { exitCode = 0 } = failed.state?.terminated ?? {};
  const message = `the container ${failed.name} ended with exit code ${exitCode}, so the command did not start`;
  return { state: 'FAILED', reason: 'InitContainerFailed', message };
}

const wasDisrupted = (pod: ObservedPod): boolean =>
  pod.status?.conditions?.some(({ type, status }) => type === 'DisruptionTarget' && status === 'True') ===
  true;

export function podLost(pod: ObservedPod | null): Run {
  const disruption = pod?.status?.conditions?.find(({ type }) => type === 'DisruptionTarget');
  const why = disruption?.reason ?? pod?.status?.reason ?? '';
  const message = `its pod was removed before the command ended${why === '' ? '' : `: ${why}`}`;
  return { state: 'FAILED', reason: 'PodLost', message, startTime: startOf(pod) };
}
