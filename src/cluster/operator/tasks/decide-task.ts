import type { V1PodTemplateSpec } from '@kubernetes/client-node';
import type { DeploymentTaskStatus } from '../../../contract/resource/deployment-task.ts';
import type { Policy } from '../../../domain/policy/policy.ts';
import { TASK_START_SECONDS, type TaskReason, type TaskState } from '../../../domain/tasks/task.ts';
import { hasEnded } from '../../kube/client/object.ts';
import { endOfJob } from '../observed.ts';
import { endOfPod, podLost, type Run, startOf, timedOut } from './judge-run.ts';
import {
  hasTaskEnded,
  isCancelled,
  isOfCronJob,
  type ObservedTask,
  type TaskJob,
  type TaskRefusal,
} from './observed-task.ts';
import { isRecorded, isRelease, isSuperseded, withReleaseUid } from './release-task-rules.ts';
import { chosenRevision, taskRefusal } from './task-start.ts';
import { waitOfPod } from './task-wait.ts';

/** The next step for a task. The status is written before the step is taken. */
export type TaskStep =
  | { readonly kind: 'none' }
  /** Make the deployment the owner of the task, so that both are deleted together. */
  | { readonly kind: 'adopt' }
  /** Create the Job, suspended. */
  | { readonly kind: 'create'; readonly template: V1PodTemplateSpec }
  /** Let the Job run. Its uid is recorded. */
  | { readonly kind: 'start' }
  | { readonly kind: 'delete'; readonly why: TaskReason };

export interface TaskDecision {
  readonly status: DeploymentTaskStatus;
  readonly step: TaskStep;
  /** When to decide again without an event, in ms since the epoch; null: an event will come. */
  readonly recheckAt: number | null;
}

/** How long an event of the pod may come after that of its Job, in ms. */
const LAG_MS = 5_000;
const START_MS = TASK_START_SECONDS * 1000;

const NO_STEP: TaskStep = { kind: 'none' };

/** Why the operator ends a task, and the state that the task then has. */
const STOPS: Readonly<Partial<Record<TaskReason, TaskState>>> = {
  Cancelling: 'CANCELLED',
  DeploymentDeleting: 'CANCELLED',
  DeploymentOff: 'CANCELLED',
  Replaced: 'CANCELLED',
  Superseded: 'CANCELLED',
  NotStarted: 'FAILED',
};

/**
 * Decides status and next step of a task. Pure, and level-triggered: any decision may be the first after a restart.
 *
 * A Job is created suspended. Its uid is recorded in the status, and then the Job runs. If a recorded Job is missing, the
 * task has failed, because its command may have started. If no uid is recorded, nothing has started.
 */
export function decideTask(found: ObservedTask, policy: Policy, now: Date): TaskDecision {
  const observed = isOfCronJob(found.task) ? withJobOfCronJob(found) : withReleaseUid(found);
  const { task, job, deployment } = observed;
  const { jobUid } = task.status ?? {};
  // The logs of an ended task can be read as long as its Job exists, so the Job is left to its time to live.
  if (hasTaskEnded(task)) return settled(task.status ?? {});
  const own = ownJob(job, jobUid);
  const stop = stopOf(observed);
  // guard: recorded-job-is-not-created-again
  if (own === null && jobUid === undefined)
    return stop === null ? beforeJob(observed, policy, now) : stopped(observed, stop, now);
  if (own === null) return withoutJob(observed, stop, now);
  if (own.spec?.suspend !== true || stop !== null || endOfJob(own) !== null)
    return withJob({ ...observed, job: own }, stop, now);
  const isPaused = deployment?.isPaused === true;
  const uid = own.metadata.uid ?? '';
  const status = {
    ...waiting(observed, isPaused ? 'DeploymentPaused' : 'Starting'),
    // A Job starts only after its uid was recorded.
    jobUid: uid,
  };
  // The Job of a release starts only after the deployment has recorded it.
  const mayStart = !isRelease(observed) || isRecorded(observed, uid);
  return { status, step: isPaused || !mayStart ? NO_STEP : { kind: 'start' }, recheckAt: null };
}

/** The Job of a CronJob exists before its task, so its uid is recorded with the first status. */
function withJobOfCronJob(found: ObservedTask): ObservedTask {
  const { task, job } = found;
  const jobUid = task.status?.jobUid ?? job?.metadata.uid ?? '';
  return { ...found, task: { ...task, status: { ...task.status, jobUid } } };
}

/**
 * The Job of the task; null: there is no such Job. If a uid is recorded, it decides. Without one, only a Job that has not run can be
 * that of the task, because another writer may have created a Job with its name and labels.
 */
function ownJob(job: TaskJob | null, jobUid: string | undefined): TaskJob | null {
  if (job === null) return null;
  const isOwn = jobUid === undefined ? job.spec?.suspend === true : job.metadata.uid === jobUid;
  return isOwn ? job : null;
}

/** Why the task must end; null: it may continue. The reason of a Job that is already deleted stays. */
function stopOf(observed: ObservedTask): TaskReason | null {
  const { task, deployment, isReplaced } = observed;
  if (isCancelled(task)) return 'Cancelling';
  if (isReplaced) return 'Replaced';
  const { reason } = task.status ?? {};
  if (reason !== undefined && Object.hasOwn(STOPS, reason)) return reason as TaskReason;
  if (deployment === null) return null;
  if (isRelease(observed)) {
    if (isSuperseded(observed) && !deployment.isPaused) return 'Superseded';
    // A release that has not started starts when the deployment is switched on or restored.
    if (!isRecorded(observed, task.status?.jobUid)) return null;
  }
  const { spec, metadata } = deployment.resource;
  if (metadata.deletionTimestamp !== undefined || spec.deletion !== undefined) return 'DeploymentDeleting';
  return spec.suspend ? 'DeploymentOff' : null;
}

/** Whether the stop may have ended a running command, whose exit code then has no meaning. */
const endsCommand = (stop: TaskReason | null): boolean => stop !== null && stop !== 'NotStarted';

/** The fields of the status that stay. */
function kept({ task, deployment }: ObservedTask): DeploymentTaskStatus {
  const { revision, jobUid, startTime } = task.status ?? {};
  const chosen =
    revision ?? (deployment === null ? undefined : chosenRevision(task.spec, deployment)?.revision);
  return {
    ...(chosen === undefined ? {} : { revision: chosen }),
    ...(jobUid === undefined ? {} : { jobUid }),
    ...(startTime === undefined ? {} : { startTime }),
  };
}

function waiting(observed: ObservedTask, reason: TaskReason, message?: string): DeploymentTaskStatus {
  return { ...kept(observed), state: 'QUEUED', reason, ...(message === undefined ? {} : { message }) };
}

function ended(observed: ObservedTask, run: Run, now: Date): DeploymentTaskStatus {
  const { state, reason, message, exitCode } = run;
  const { startTime: known, ...rest } = kept(observed);
  const startTime = run.startTime ?? known;
  return {
    ...rest,
    state,
    ...(reason === undefined ? {} : { reason }),
    ...(message === undefined ? {} : { message }),
    ...(exitCode === undefined ? {} : { exitCode }),
    ...(startTime === undefined ? {} : { startTime }),
    completionTime: run.completionTime ?? seconds(now),
  };
}

const settled = (status: DeploymentTaskStatus): TaskDecision => ({ status, step: NO_STEP, recheckAt: null });

/** The final status of a task that the operator has ended. */
function stopped(observed: ObservedTask, why: TaskReason, now: Date): TaskDecision {
  const state = STOPS[why] ?? 'FAILED';
  const { message } = observed.task.status ?? {};
  const reason = why === 'Cancelling' ? undefined : why;
  return settled(ended(observed, { state, reason, ...(why === 'NotStarted' ? { message } : {}) }, now));
}

/** Nothing has started. */
function beforeJob(observed: ObservedTask, policy: Policy, now: Date): TaskDecision {
  const { task, deployment, isNameTaken } = observed;
  const refused = taskRefusal(task.spec, policy);
  if (refused !== null) return fails('Refused', refused);
  const since = Date.parse(task.metadata.creationTimestamp ?? '') || now.getTime();
  const isLate = now.getTime() >= since + START_MS;
  const overdue = isLate && !isRelease(observed);
  if (deployment === null)
    return waits('DeploymentNotFound', `there is no ManagedDeployment ${task.spec.deployment}`);
  if (!owns(observed))
    return { status: waiting(observed, 'Starting'), step: { kind: 'adopt' }, recheckAt: null };
  if (deployment.isPaused) return waits('DeploymentPaused', 'the operator is paused for the deployment');
  const chosen = chosenRevision(task.spec, deployment);
  if (chosen === null) return waits('DeploymentNotReady', 'the deployment has no such revision yet');
  if ('gone' in chosen) return fails('RevisionNotFound', chosen.gone);
  const { template } = chosen;
  if (template === undefined) {
    const message = `revision ${chosen.revision.number} has no component ${task.spec.component}`;
    return fails('ComponentNotFound', message);
  }
  if (isNameTaken || observed.job !== null)
    return waits('Conflict', `another Job has the name ${task.metadata.name}`);
  const refusal = observed.refusal ?? formerRefusal(observed);
  if (refusal !== null && (isLate || isFinal(observed, refusal.reason)))
    return fails(refusal.reason, refusal.message);
  const why =
    refusal === null ? waiting(observed, 'Starting') : waiting(observed, refusal.reason, refusal.message);
  return { status: why, step: { kind: 'create', template }, recheckAt: null };

  function fails(reason: TaskReason, message: string): TaskDecision {
    return settled(ended(observed, { state: 'FAILED', reason, message }, now));
  }
  function waits(reason: TaskReason, message: string): TaskDecision {
    if (overdue || isFinal(observed, reason)) return fails(reason, message);
    const recheckAt = isRelease(observed) ? null : since + START_MS;
    return { status: waiting(observed, reason, message), step: NO_STEP, recheckAt };
  }
}

/** A revision does not wait until another Job is removed. */
const isFinal = (observed: ObservedTask, reason: TaskReason): boolean =>
  isRelease(observed) && reason === 'Conflict';

/** The recorded refusal of the Job, which stays until the Job exists. */
function formerRefusal({ task }: ObservedTask): TaskRefusal | null {
  const { reason, message = '' } = task.status ?? {};
  return reason === 'Refused' || reason === 'Conflict' ? { reason, message } : null;
}

/** Whether the deployment owns the task. */
function owns({ task, deployment }: ObservedTask): boolean {
  const uid = deployment?.resource.metadata.uid;
  return (task.metadata.ownerReferences ?? []).some((owner) => owner.uid === uid);
}

/** The recorded Job does not exist. Its pod may still run. */
function withoutJob(observed: ObservedTask, stop: TaskReason | null, now: Date): TaskDecision {
  const { task, pod } = observed;
  const end = pod === null ? null : endOfPod(pod, task.spec.timeoutSeconds, endsCommand(stop));
  if (end !== null) return settled(ended(observed, end, now));
  const isGone = pod === null || hasEnded(pod);
  if (!isGone) return settled(running(observed, stop));
  if (stop !== null) return stopped(observed, stop, now);
  const message = 'its Job was deleted before its result was observed';
  return settled(ended(observed, { state: 'FAILED', reason: 'JobLost', message }, now));
}

/** The Job exists and is allowed to run, or was. */
function withJob(
  observed: ObservedTask & { job: TaskJob },
  stop: TaskReason | null,
  now: Date,
): TaskDecision {
  const { task, job, pod, deployment } = observed;
  const { timeoutSeconds } = task.spec;
  const end = pod === null ? null : endOfPod(pod, timeoutSeconds, endsCommand(stop));
  if (end !== null) return settled(ended(observed, end, now));
  const isLeaving = job.metadata.deletionTimestamp !== undefined;
  if (stop !== null) {
    const step: TaskStep =
      deployment?.isPaused === true || isLeaving ? NO_STEP : { kind: 'delete', why: stop };
    return { status: running(observed, stop), step, recheckAt: null };
  }
  const over = endOfJob(job);
  if (over !== null) return afterJob(observed, over, now);
  if (pod !== null && startOf(pod) !== undefined) return settled(running(observed, null));
  const { message, reason, isVolume } = waitOfPod(job, pod, observed, now);
  const since = Date.parse(job.status?.startTime ?? job.metadata.creationTimestamp ?? '') || now.getTime();
  const deadline = since + START_MS;
  if (now.getTime() < deadline) {
    const why = isVolume ? 'VolumeInUse' : 'Starting';
    return { status: waiting(observed, why, message), step: NO_STEP, recheckAt: deadline };
  }
  const lasted = `its pod did not start within ${TASK_START_SECONDS} s: ${reason}`;
  return {
    status: waiting(observed, 'NotStarted', lasted),
    step: { kind: 'delete', why: 'NotStarted' },
    recheckAt: null,
  };
}

/** The Job has ended, and no pod shows how. The event of the pod may come later. */
function afterJob(
  observed: ObservedTask,
  end: { type: string; reason?: string; lastTransitionTime?: string },
  now: Date,
): TaskDecision {
  const lag = (Date.parse(end.lastTransitionTime ?? '') || 0) + LAG_MS;
  if (observed.pod === null && lag > now.getTime())
    return { status: running(observed, null), step: NO_STEP, recheckAt: lag };
  const { startTime } = observed.task.status ?? {};
  if (end.type === 'Complete') return settled(ended(observed, { state: 'SUCCEEDED', exitCode: 0 }, now));
  if (end.reason !== 'DeadlineExceeded') return settled(ended(observed, podLost(observed.pod), now));
  const { timeoutSeconds } = observed.task.spec;
  const run: Run =
    startTime === undefined
      ? {
          state: 'FAILED',
          reason: 'NotStarted',
          message: 'its pod did not start before the deadline of its Job',
        }
      : timedOut(timeoutSeconds, startTime);
  return settled(ended(observed, run, now));
}

/** The status while the command runs, or before it if it was not observed to start. */
function running(observed: ObservedTask, stop: TaskReason | null): DeploymentTaskStatus {
  const { startTime: known, ...rest } = kept(observed);
  const startTime = startOf(observed.pod) ?? known;
  const { message } = observed.task.status ?? {};
  return {
    ...rest,
    state: startTime === undefined ? 'QUEUED' : 'RUNNING',
    ...(stop === null ? (startTime === undefined ? { reason: 'Starting' } : {}) : { reason: stop }),
    ...(stop === 'NotStarted' && message !== undefined ? { message } : {}),
    ...(startTime === undefined ? {} : { startTime }),
  };
}

/** metav1.Time has no fractions of a second. */
function seconds(date: Date): string {
  return date.toISOString().replace(/\.\d+Z$/, 'Z');
}
