import { claimsOf } from '../../../workloads/tasks/task-job.ts';
import { isVolumeInUse } from '../access/exclusive-volumes.ts';
import type { ObservedPod } from '../observed.ts';
import { podTrouble } from '../pods/pod-trouble.ts';
import { shortened } from '../status/conditions.ts';
import type { ObservedTask, TaskJob } from './observed-task.ts';
import { chosenRevision } from './task-start.ts';

/** Why the command of a Job has not started. Pure. */

export interface Wait {
  /** For the status. Absent: an ordinary start. */
  readonly message?: string;
  /** The same as part of a sentence. */
  readonly reason: string;
  /** Whether another pod uses a volume. */
  readonly isVolume: boolean;
}

/** Time after which a Job without a pod is reported, in ms. */
const SLOW_MS = 10_000;

/** Maximum length of the reason, so that it fits into a message with more text. */
const MAX_REASON = 800;

export function waitOfPod(job: TaskJob, pod: ObservedPod | null, observed: ObservedTask, now: Date): Wait {
  if (pod === null) return waitForPod(job, now);
  const { message: trouble, reason: state } = podTrouble(pod);
  const isVolume = isVolumeInUse(trouble);
  const claims = isVolume ? mountedClaims(observed) : [];
  const named = claims.length === 0 ? '' : `; volume claims of the task: ${claims.join(', ')}`;
  const reason = shortened(`${trouble}${named}`, MAX_REASON);
  return { reason, isVolume, ...(ORDINARY.has(state) ? {} : { message: reason }) };
}

/** States of an ordinary start. */
const ORDINARY: ReadonlySet<string> = new Set([
  'Pending',
  'ContainerCreating',
  'PodInitializing',
  'ContainersNotReady',
  'ContainersNotInitialized',
]);

function waitForPod(job: TaskJob, now: Date): Wait {
  const reason = `its Job ${job.metadata.name} has no pod; a quota or an admission rule of the namespace may reject it, see the Events of the Job`;
  const since = Date.parse(job.status?.startTime ?? job.metadata.creationTimestamp ?? '');
  const isSlow = now.getTime() - since >= SLOW_MS;
  return { reason, isVolume: false, ...(isSlow ? { message: reason } : {}) };
}

/** Claims that the pod of the task mounts. */
function mountedClaims({ task, deployment }: ObservedTask): string[] {
  const number = task.status?.revision?.number ?? task.spec.revision;
  if (deployment === null) return [];
  const { component } = task.spec;
  const chosen = chosenRevision(
    { component, ...(number === undefined ? {} : { revision: number }) },
    deployment,
  );
  return chosen?.revision === undefined || chosen.template === undefined ? [] : claimsOf(chosen.template);
}
