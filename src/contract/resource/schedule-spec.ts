import { z } from 'zod';
import { text } from '../../domain/kubernetes/text.ts';
import { COMPONENTS } from '../../domain/resource-spec/components.ts';
import { CONCURRENCIES, SCHEDULE_LIMITS, SCHEDULE_NAME } from '../../domain/schedules/schedules.ts';
import { TASK_LIMITS } from '../../domain/tasks/task.ts';

/**
 * The schedules in the custom resource. The schema states types and bounds. The operator checks expression, time zone and policy
 * with the rules of the API, so that a wrong schedule is named in the status and does not prevent a rollout.
 */

export const scheduleSpecSchema = z
  .strictObject({
    name: z
      .string()
      .min(1)
      .max(SCHEDULE_LIMITS.name)
      .regex(SCHEDULE_NAME)
      .describe('Name, unique in the list.'),
    schedule: z.string().min(1).max(SCHEDULE_LIMITS.expression).describe('Cron expression of five fields.'),
    timeZone: z
      .string()
      .min(1)
      .max(SCHEDULE_LIMITS.timeZone)
      .optional()
      .describe('IANA time zone of the expression. Absent: Etc/UTC.'),
    command: z
      .array(text(TASK_LIMITS.argumentLength))
      .min(1)
      .max(TASK_LIMITS.arguments)
      .describe(
        'Program and arguments, instead of those of the component. $(NAME) expands to a variable, and $$ to $.',
      ),
    component: z
      .enum(COMPONENTS)
      .optional()
      .describe('Component whose environment, sidecars, resources and placement the runs have. Absent: api.'),
    timeoutSeconds: z
      .int()
      .min(1)
      .max(TASK_LIMITS.maxTimeoutSeconds)
      .optional()
      .describe('Time after which a run is ended, in seconds. Absent: 3600.'),
    suspend: z.boolean().optional().describe('True: the schedule starts no runs.'),
    concurrency: z
      .enum(CONCURRENCIES)
      .optional()
      .describe(
        'What happens if a run is due and the former run has not ended. forbid: the new run is omitted. allow: both run. replace: the former run is ended. Absent: forbid.',
      ),
  })
  .describe('A task that runs at the times of a cron expression.')
  .meta({ examples: [{ name: 'nightly', schedule: '30 2 * * *', command: ['./clean'] }] });
export type ScheduleSpec = z.infer<typeof scheduleSpecSchema>;

/** `spec.schedules` of a ManagedDeployment. */
export const schedulesSpecSchema = z
  .array(scheduleSpecSchema)
  .max(SCHEDULE_LIMITS.schedules)
  .refine((schedules) => new Set(schedules.map(({ name }) => name)).size === schedules.length, {
    message: 'names must be unique in the list',
  })
  .describe('Tasks that run at fixed times in the active revision. A change replaces no pods.');
