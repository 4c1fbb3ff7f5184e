/** Terms of tasks: commands that run once, with the image and the environment of a revision. */

/**
 * QUEUED: the command has not started. RUNNING: it has started. The other states are final. A state is always one that was
 * observed in the cluster.
 */
export const TASK_STATES = ['QUEUED', 'RUNNING', 'SUCCEEDED', 'FAILED', 'TIMED_OUT', 'CANCELLED'] as const;
export type TaskState = (typeof TASK_STATES)[number];

const FINAL: ReadonlySet<TaskState> = new Set(['SUCCEEDED', 'FAILED', 'TIMED_OUT', 'CANCELLED']);

/** Whether the state never changes again. */
export const isFinalTaskState = (state: TaskState): boolean => FINAL.has(state);

/** Who requested a task. `custom-resource`: a user who created the custom resource, outside the API. */
export const TASK_ORIGINS = ['api', 'release', 'schedule', 'custom-resource'] as const;
export type TaskOrigin = (typeof TASK_ORIGINS)[number];

/** Bounds of a task. Times are in seconds. */
export const TASK_LIMITS = {
  /** Number of arguments of the command. */
  arguments: 64,
  /** Length of one argument. */
  argumentLength: 8192,
  defaultTimeoutSeconds: 3600,
  maxTimeoutSeconds: 86_400,
} as const;

/** Why a task is in its state, with the next step of a user. The custom resource and the API show the reason. */
export const TASK_REASONS = {
  Starting: 'The pod is being scheduled and its image is being pulled. Wait.',
  Cancelling: 'The task was cancelled, and its pod has not ended yet. Wait.',
  DeploymentNotFound: 'The namespace has no such deployment. Create it, or correct the name.',
  DeploymentNotReady: 'The deployment has no such revision yet. Wait for its rollout.',
  DeploymentPaused: 'The operator is paused for the deployment. Resume it.',
  DeploymentOff:
    'The deployment is switched off, so that its database does not run. Switch it on, then run the task again.',
  Superseded: 'A newer revision was requested before the release command started. There is nothing to do.',
  DeploymentDeleting: 'The deployment is being deleted. Restore it, then run the task again.',
  RevisionNotFound: 'The cluster no longer has the pods of the revision. Use a newer revision.',
  ComponentNotFound: 'The revision has no such component. Use a component that it has.',
  Refused: 'The policy or the cluster does not allow the task. Change the task as the message says.',
  Conflict: 'Another object has the name of the Job. Use another name.',
  VolumeInUse:
    'A pod of the deployment uses a volume that only one pod or one node can use. Switch that component off, or use another volume.',
  NotStarted: 'The pod did not start in time. Correct the cause in the message, then run the task again.',
  CommandFailed: 'The command ended with an exit code other than 0. Read its logs.',
  OutOfMemory: 'The command used more memory than its limit. Give the task more memory.',
  InitContainerFailed:
    'An init container failed, so the command did not start. Read the logs of that container.',
  PodLost:
    'The pod was removed before the command ended, for example with its node. Check what the command did, then run the task again.',
  JobLost: 'The Job was deleted by another account. Check what the command did, then run the task again.',
  Replaced:
    'The next run of the schedule was due, and its concurrency is replace. Give the runs more time, or use another concurrency.',
  TimedOut: 'The command did not end in time, and was ended. Set a longer timeout.',
} as const satisfies Record<string, string>;
export type TaskReason = keyof typeof TASK_REASONS;

/** How long a task may wait for its start, in seconds. */
export const TASK_START_SECONDS = 300;

/** How long ended tasks are kept. */
export const TASK_HISTORY = {
  /** The Job and its pod, whose logs can be read, in seconds. */
  jobSeconds: 3600,
  /** The custom resource, in seconds. */
  taskSeconds: 7 * 86_400,
  /** Number of ended tasks of a deployment. Older ones are removed, with their Jobs. */
  tasks: 100,
} as const;
