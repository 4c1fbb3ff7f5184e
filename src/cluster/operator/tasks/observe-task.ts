import { LABELS } from '../../../contract/resource/names.ts';
import { compareText } from '../../../domain/core/compare-text.ts';
import { identityValue } from '../../../workloads/labels.ts';
import type { Caches } from '../observe/caches.ts';
import { gather } from '../observe/gather.ts';
import { isAccepted, isBlockedByIdentity } from '../observe/ownership.ts';
import { newestFirst, type ObservedPod, type ObservedResource } from '../observed.ts';
import { isPaused } from '../status/conditions.ts';
import { isOfCronJob, type TaskDeployment, type TaskJob, type TaskResource } from './observed-task.ts';

/** Reads the deployment and the pod of a task from the caches. */

export type TaskView = Pick<Caches, 'resource' | 'children' | 'watches' | 'countOf'>;

/** The deployment of this key; null: it does not exist, or this version cannot parse it. */
export function deploymentOf(view: TaskView, key: string): TaskDeployment | null {
  const gathered = gather(view, key);
  if (gathered.kind !== 'found') return null;
  const { resource, storedTemplates } = gathered.observed;
  const active = resource.status?.activeRevision;
  return {
    resource,
    isPaused: isPaused(resource),
    isAccepted: mayRun(view, resource),
    active: active === undefined ? null : { number: active.number, templates: active.templates },
    stored: newestFirst(storedTemplates).map(({ name, revisionNumber, revisionId, templates }) => ({
      name,
      number: revisionNumber,
      id: revisionId,
      templates: () => templates(),
    })),
  };
}

/** A copy of a manifest, which has the identity of another resource, runs nothing. */
function mayRun(view: TaskView, resource: ObservedResource): boolean {
  if (isBlockedByIdentity(resource.status?.conditions ?? [])) return false;
  return view.countOf(resource.metadata.namespace, identityValue(resource)) < 2 || isAccepted(resource);
}

/** The newest pod of the Job of a task. A recorded uid of the Job decides, because a name can be used again. */
export function podOf(
  view: Pick<TaskView, 'children'>,
  deploymentKey: string,
  task: TaskResource,
  job: TaskJob | null,
): ObservedPod | null {
  const jobUid = task.status?.jobUid ?? job?.metadata.uid;
  if (jobUid === undefined) return null;
  const pods = (view.children('Pod', deploymentKey) as ObservedPod[]).filter(
    ({ metadata: { labels = {} } }) =>
      (isOfCronJob(task) || labels[LABELS.taskUid] === task.metadata.uid) &&
      labels['batch.kubernetes.io/controller-uid'] === jobUid,
  );
  const byAge = pods.toSorted((a, b) =>
    compareText(b.metadata.creationTimestamp ?? '', a.metadata.creationTimestamp ?? ''),
  );
  return byAge[0] ?? null;
}

/** Whether the next run of the schedule of a task has replaced its Job. */
export function isReplaced(
  task: TaskResource,
  job: TaskJob | null,
  { deployment, runs }: { deployment: TaskDeployment | null; runs: readonly TaskJob[] },
): boolean {
  if (!isOfCronJob(task) || (job !== null && job.metadata.deletionTimestamp === undefined)) return false;
  const schedules = deployment?.resource.spec.schedules ?? [];
  if (schedules.find(({ name }) => name === task.spec.schedule)?.concurrency !== 'replace') return false;
  const since = task.metadata.creationTimestamp ?? '';
  return runs.some(
    ({ metadata: { name, labels = {}, creationTimestamp = '' } }) =>
      labels[LABELS.schedule] === task.spec.schedule &&
      name !== task.metadata.name &&
      creationTimestamp >= since,
  );
}
