import type { ObservedResource } from '../observed.ts';
import { type Finding, no, yes } from '../status/conditions.ts';
import type { TaskResource } from '../tasks/observed-task.ts';
import type { ScheduleProblem } from './decide-schedules.ts';
import { FAILED_RUNS, failingSchedules } from './run-results.ts';

/** The condition SchedulesHealthy. Pure. */

/** Number of schedules that a message names. */
const NAMED = 5;

/** null: the deployment has no schedules. */
export function schedulesFinding(
  { spec: { schedules = [], suspend } }: ObservedResource,
  problems: readonly ScheduleProblem[],
  tasks: readonly TaskResource[],
): Finding | null {
  if (schedules.length === 0) return null;
  if (problems.length > 0)
    return no('ScheduleRefused', listed(problems.map(({ name, message }) => `${name}: ${message}`)));
  if (suspend) return yes('SwitchedOff', 'no schedule runs while the deployment is switched off');
  const failing = failingSchedules(tasks);
  const active = schedules.filter(({ name, suspend }) => failing.has(name) && suspend !== true);
  if (active.length > 0) {
    const texts = active.map(({ name }) => {
      const run = failing.get(name);
      return `${name}: the last ${FAILED_RUNS} runs failed, the last one is the task ${run?.metadata.name}: ${run?.status?.message ?? run?.status?.reason}`;
    });
    return no('ScheduleFailing', listed(texts));
  }
  return yes('SchedulesRunning', `${schedules.length} schedules, none of which fails repeatedly`);
}

function listed(texts: readonly string[]): string {
  const more = texts.length - NAMED;
  return [...texts.slice(0, NAMED), ...(more > 0 ? [`and ${more} more`] : [])].join('; ');
}
