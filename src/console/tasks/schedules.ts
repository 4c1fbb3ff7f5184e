import type { Deployment, Schedule, Task } from '../api/types.ts';
import type { JsonObject } from '../form/json.ts';

/** Schedules of a deployment: what the page shows and sends. */

/** The newest run of each schedule. @param tasks newest first */
export function lastRuns(tasks: readonly Task[]): ReadonlyMap<string, Task> {
  const runs = new Map<string, Task>();
  for (const task of tasks) {
    if (task.schedule !== null && !runs.has(task.schedule)) runs.set(task.schedule, task);
  }
  return runs;
}

/** Whether the schedule starts no runs. */
export const isSuspended = ({ suspend }: Schedule): boolean => suspend === true;

/** The change that suspends or resumes a schedule. A list is replaced as a whole, so the others are in it as they are. */
export function suspensionPatch(
  { source_config: config }: Pick<Deployment, 'source_config'>,
  name: string,
  suspends: boolean,
): JsonObject {
  const schedules = (config.schedules ?? []).map((each) =>
    each.name === name ? { ...each, suspend: suspends } : each,
  );
  return { source_config: { schedules: schedules as unknown as JsonObject[] } };
}
