import { compareText } from '../../../domain/core/compare-text.ts';
import type { TaskResource } from '../tasks/observed-task.ts';

/** The results of the runs of schedules. Pure. */

/** Number of failed runs in a row after which a schedule is reported. */
export const FAILED_RUNS = 3;

type Run = Pick<TaskResource, 'metadata' | 'spec' | 'status'>;

/** The ended runs of each schedule, newest first. A run that was cancelled says nothing about the command. */
function resultsBySchedule<T extends Run>(tasks: readonly T[]): Map<string, T[]> {
  const found = new Map<string, T[]>();
  const newestFirst = tasks.toSorted((a, b) =>
    compareText(b.metadata.creationTimestamp, a.metadata.creationTimestamp),
  );
  for (const task of newestFirst) {
    const { schedule, origin } = task.spec;
    const state = task.status?.state;
    const hasResult = state === 'SUCCEEDED' || state === 'FAILED' || state === 'TIMED_OUT';
    if (schedule === undefined || origin !== 'schedule' || !hasResult) continue;
    found.set(schedule, [...(found.get(schedule) ?? []), task]);
  }
  return found;
}

/** The newest ended runs of each schedule, which show whether it works. */
export function newestRuns<T extends Run>(tasks: readonly T[]): Set<T> {
  return new Set([...resultsBySchedule(tasks).values()].flatMap((runs) => runs.slice(0, FAILED_RUNS)));
}

/** The newest run of each schedule whose last runs have all failed, by the name of the schedule. */
export function failingSchedules(tasks: readonly TaskResource[]): Map<string, TaskResource> {
  const failing = [...resultsBySchedule(tasks)].flatMap(([schedule, runs]) => {
    const last = runs.slice(0, FAILED_RUNS);
    const [newest] = last;
    const haveFailed =
      last.length === FAILED_RUNS && last.every(({ status }) => status?.state !== 'SUCCEEDED');
    return haveFailed && newest !== undefined ? [[schedule, newest] as const] : [];
  });
  return new Map(failing);
}
