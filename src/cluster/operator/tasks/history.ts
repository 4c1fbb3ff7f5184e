import { compareText } from '../../../domain/core/compare-text.ts';
import { TASK_HISTORY } from '../../../domain/tasks/task.ts';
import { newestRuns } from '../schedules/run-results.ts';
import { hasTaskEnded, type TaskResource } from './observed-task.ts';

/** The bounded history of tasks. Pure. */

/** When the task ended, in ms since the epoch; null: it has not ended. */
function endOf(task: TaskResource): number | null {
  return hasTaskEnded(task) ? Date.parse(task.status?.completionTime ?? '') || 0 : null;
}

export interface History {
  readonly expired: readonly TaskResource[];
  /** When the next task expires, in ms since the epoch; null: never. */
  readonly recheckAt: number | null;
}

/** The ended tasks of one deployment that are removed: those above the number, the oldest first, and those above the age. The
 * newest runs of each schedule are kept at any age, because they show whether it works. */
export function historyOf(tasks: readonly TaskResource[], now: Date): History {
  const over = tasks
    .flatMap((task) => {
      const at = endOf(task);
      return at === null || task.metadata.deletionTimestamp !== undefined ? [] : [{ task, at }];
    })
    .sort((a, b) => b.at - a.at || compareText(b.task.metadata.name, a.task.metadata.name));
  const lifetime = TASK_HISTORY.taskSeconds * 1000;
  const kept = newestRuns(over.map(({ task }) => task));
  const isKept = (task: TaskResource) => kept.has(task);
  const isExpired = ({ at, task }: { at: number; task: TaskResource }, index: number) =>
    index >= TASK_HISTORY.tasks || (at + lifetime <= now.getTime() && !isKept(task));
  const oldest = over.filter((entry, index) => !isExpired(entry, index) && !isKept(entry.task)).at(-1);
  return {
    expired: over.filter(isExpired).map(({ task }) => task),
    recheckAt: oldest === undefined ? null : oldest.at + lifetime,
  };
}
