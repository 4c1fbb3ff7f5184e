import { parseCron, shortestInterval } from '../schedules/cron.ts';
import type { Schedule } from '../schedules/schedules.ts';
import type { Policy } from './policy.ts';
import type { PolicyView, Violation } from './policy-view.ts';

/** Which schedules a deployment may have. API and operator apply the same rules. */

/** Why a schedule may not have its expression, as the end of a sentence that begins with the field. null: it may. */
export function intervalRefusal(
  expression: string,
  { min_interval_minutes: least }: Policy['schedules'],
): string | null {
  const cron = parseCron(expression);
  if (typeof cron === 'string') return cron;
  const interval = shortestInterval(cron);
  if (interval >= least) return null;
  return `must not run more often than every ${least} minutes (schedules.min_interval_minutes of the policy), but two runs are ${interval} minutes apart`;
}

const LIST = ['source_config', 'schedules'] as const;

/** Violations of the schedules that are new. Stored schedules stay when the policy becomes narrower. */
export function scheduleIssues(
  { sourceConfig, stored }: Pick<PolicyView, 'sourceConfig' | 'stored'>,
  policy: Policy,
): Violation[] {
  const { schedules = [] } = sourceConfig;
  const before = new Map(stored?.schedules?.map((each: Schedule) => [each.name, each.schedule]));
  const { max_schedules: most } = policy.schedules;
  const found = schedules.flatMap(({ name, schedule }, index) => {
    const msg = before.get(name) === schedule ? null : intervalRefusal(schedule, policy.schedules);
    return msg === null ? [] : [{ loc: [...LIST, index, 'schedule'], msg }];
  });
  if (schedules.length <= most || schedules.length <= before.size) return found;
  return [
    {
      loc: [...LIST],
      msg: `must not have more than ${most} entries (schedules.max_schedules of the policy)`,
    },
    ...found,
  ];
}
