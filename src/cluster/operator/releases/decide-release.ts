import { isDeepStrictEqual } from 'node:util';
import type { DeploymentTaskSpec } from '../../../contract/resource/deployment-task.ts';
import { compareText } from '../../../domain/core/compare-text.ts';
import { releaseTask, releaseTaskName, releaseTaskSpec } from '../../../workloads/tasks/release-task.ts';
import type { Observed, ObservedResource } from '../observed.ts';
import { isSame, revisionOf } from '../rollout/target.ts';
import type { Templates } from '../rollout/template-selection.ts';
import { hasTaskEnded, NO_TASKS, type TaskResource } from '../tasks/observed-task.ts';
import type { PendingRelease, ReleaseRecord } from './release.ts';
import { releaseFailure } from './release-failure.ts';

/**
 * Decides about the release command of the desired revision. Pure, and level-triggered: any decision may be the first after
 * a restart.
 *
 * The task is created, and its Job is suspended. The uid of the Job is recorded in the status of the deployment, and then
 * the Job runs. From then on only this Job decides: a task or Job that has the expected name is not enough. If the status is lost,
 * the uid is recorded again from the task of the release, even if the Job has ended.
 */

/** The release that the desired revision waits for; null: it may be rolled out. */
export function pendingRelease(
  observed: Observed,
  wanted: Templates & { readonly name: string },
): PendingRelease | null {
  const { resource, tasks } = observed;
  const spec = releaseTaskSpec(resource);
  if (spec === null || isReleased(observed)) return null;
  if (tasks == null) return untilKnown(observed);
  const record = resource.status?.release;
  // guard: recorded-release-decides
  if (record !== undefined && isOfDesired(resource, record) && !isRepeated(record, wanted, observed))
    return ofRecord(record, observed);
  const former = record === undefined ? undefined : recordedTask(record, tasks);
  // guard: revision-waits-for-former-release
  if (record !== undefined && former !== undefined && !hasTaskEnded(former))
    return { kind: 'waiting', message: `the release command of revision ${record.number} has not ended` };
  if (wanted.store !== null) return { kind: 'waiting', message: 'its templates are being stored' };
  return beforeRecord(observed, tasks, releaseTaskName(wanted.name), spec);
}

function untilKnown({ lacksTasks }: Observed): PendingRelease {
  return lacksTasks === true
    ? { kind: 'waiting', reason: 'TasksUnavailable', message: `its release command cannot run: ${NO_TASKS}` }
    : { kind: 'waiting', message: 'the tasks of the cluster have not been read yet' };
}

/** Whether the desired revision needs no release, because it was released or was active before. */
function isReleased({ resource }: Observed): boolean {
  const { activeRevision, rollout, release } = resource.status ?? {};
  const { revision } = resource.spec;
  if ([activeRevision, rollout].some((one) => one !== undefined && isSame(one, revision))) return true;
  return release?.succeeded === true && isSame(release, revision);
}

const isOfDesired = ({ spec }: ObservedResource, record: ReleaseRecord) => isSame(record, spec.revision);

/** The task of a record. The uid of its Job must be the recorded one. */
export function recordedTask(
  { taskUid, jobUid }: ReleaseRecord,
  tasks: readonly TaskResource[],
): TaskResource | undefined {
  // Both uids must match.
  return tasks.find(({ metadata, status }) => metadata.uid === taskUid && status?.jobUid === jobUid);
}

/**
 * Whether a failed release is tried again. Only for a resource without the hub, whose revision can change without a new
 * number. Its former failure does not apply to the new content.
 */
function isRepeated(
  record: ReleaseRecord,
  { name }: { readonly name: string },
  { resource, tasks }: Observed,
): boolean {
  if (resource.spec.revision.id !== undefined || record.task === releaseTaskName(name)) return false;
  const task = recordedTask(record, tasks ?? []);
  return task === undefined || hasTaskEnded(task);
}

/** Only the recorded Job decides. */
function ofRecord(record: ReleaseRecord, observed: Observed): PendingRelease | null {
  const task = recordedTask(record, observed.tasks ?? []);
  if (task === undefined || hasTaskEnded(task)) {
    if (task?.status?.state === 'SUCCEEDED') return null;
    return { kind: 'failed', failure: releaseFailure(record, task, observed) };
  }
  const { state, message } = task.status ?? {};
  if (state === 'RUNNING') return { kind: 'running', message: 'its release command is running' };
  const why = message === undefined ? '' : `: ${message}`;
  return { kind: 'running', message: `its release command is starting${why}` };
}

/** Whether Berth created the task for this release. Its spec cannot be changed later. */
function isOurs(task: TaskResource, resource: ObservedResource, spec: DeploymentTaskSpec): boolean {
  const { ownerReferences = [] } = task.metadata;
  return (
    ownerReferences.some(({ uid }) => uid === resource.metadata.uid) && isDeepStrictEqual(task.spec, spec)
  );
}

/** Whether the garbage collector is about to delete the task, because it belongs to a deleted resource of the same name. */
function isOfFormerResource(
  task: TaskResource,
  { kind, metadata: { name, uid } }: ObservedResource,
): boolean {
  const owners = (task.metadata.ownerReferences ?? []).filter(
    (owner) => owner.kind === kind && owner.name === name,
  );
  return owners.length > 0 && owners.every((owner) => owner.uid !== uid);
}

/** No uid is recorded. Unless the status was lost, nothing has started. */
function beforeRecord(
  { resource }: Observed,
  tasks: readonly TaskResource[],
  name: string,
  spec: DeploymentTaskSpec,
): PendingRelease {
  const own = tasks
    .filter((task) => isOurs(task, resource, spec))
    .sort((a, b) => compareText(a.metadata.name, b.metadata.name));
  const named = tasks.find((task) => task.metadata.name === name);
  // source_config may have changed since the task was created, and with it the name of the templates.
  const task = named ?? own.find((one) => !hasTaskEnded(one));
  if (task === undefined) return { kind: 'create', task: releaseTask(resource, name, spec) };
  const { metadata, status } = task;
  if (metadata.deletionTimestamp !== undefined || isOfFormerResource(task, resource))
    return { kind: 'waiting', message: `the task ${metadata.name} is being deleted` };
  if (!own.includes(task)) return conflict(name);
  // guard: lost-record-of-a-release
  if (status?.jobUid === undefined) {
    if (hasTaskEnded(task)) return notStarted(task);
    const why = status?.message === undefined ? '' : `: ${status.message}`;
    return { kind: 'waiting', message: `the Job of its release command is being created${why}` };
  }
  const { uid } = metadata;
  // If the task has ended, the status of the deployment was lost after its Job had run. The Job decides, and runs only once.
  const record = {
    ...revisionOf(resource.spec.revision),
    task: metadata.name,
    taskUid: uid,
    jobUid: status.jobUid,
  };
  return { kind: 'record', record };
}

function conflict(name: string): PendingRelease {
  return failedBeforeStart(
    name,
    `a task ${name} exists that Berth did not create for this release; delete it`,
  );
}

/** The task ended before its Job was recorded, for example because the cluster rejected the Job. */
function notStarted({ metadata, status }: TaskResource): PendingRelease {
  const why = status?.message ?? status?.reason ?? 'it was cancelled';
  return failedBeforeStart(metadata.name, `it did not start: ${why}`);
}

function failedBeforeStart(object: string, why: string): PendingRelease {
  const failureSource = { component: 'api', kind: 'DeploymentTask', object };
  const message = `the release command failed: ${why}`;
  return { kind: 'failed', failure: { reason: 'ReleaseFailed', message, failureSource } };
}
