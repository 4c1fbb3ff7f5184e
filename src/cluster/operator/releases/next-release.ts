import type { Observed } from '../observed.ts';
import { isSame, releaseOf, type Target } from '../rollout/target.ts';
import { isPaused } from '../status/conditions.ts';
import { recordedTask } from './decide-release.ts';
import type { ReleaseRecord } from './release.ts';

/**
 * The release to record in the status. Once the uid of a Job is recorded, it is kept as long as its revision is desired, and
 * until the Job has ended.
 */
export function nextRelease(observed: Observed, target: Target): ReleaseRecord | undefined {
  const { resource, tasks } = observed;
  const pending = releaseOf(target);
  if (pending?.kind === 'record' && !isPaused(resource)) return pending.record;
  const record = resource.status?.release;
  if (record === undefined || record.succeeded === true) return kept(observed, record);
  if (tasks == null) return record;
  const task = recordedTask(record, tasks);
  if (task?.status?.state === 'SUCCEEDED') return kept(observed, { ...record, succeeded: true });
  const isOver = task === undefined || task.status?.completionTime !== undefined;
  return isOver ? kept(observed, record) : record;
}

/** A record of an ended release, as long as its revision is desired. */
function kept({ resource }: Observed, record: ReleaseRecord | undefined): ReleaseRecord | undefined {
  return record !== undefined && isSame(record, resource.spec.revision) ? record : undefined;
}
