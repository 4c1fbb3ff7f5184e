import { z } from 'zod';
import { line, text } from '../kubernetes/text.ts';
import { rejectDuplicates } from '../kubernetes/unique.ts';
import { COMPONENTS } from '../resource-spec/components.ts';
import { TASK_LIMITS } from '../tasks/task.ts';
import { parseCron } from './cron.ts';
import { isTimeZone, MAX_TIME_ZONE } from './time-zone.ts';

/** Schedules of a deployment: tasks that run at the times of a cron expression. */

/** Hard limits. */
export const SCHEDULE_LIMITS = {
  /** Number of schedules of a deployment. */
  schedules: 50,
  name: 32,
  expression: 128,
  timeZone: MAX_TIME_ZONE,
  /** Of all commands of a deployment as JSON, because a custom resource contains them all. */
  commandBytes: 64 * 1024,
} as const;

/** What happens at a time at which the former run of the schedule has not ended. */
export const CONCURRENCIES = ['forbid', 'allow', 'replace'] as const;
export type Concurrency = (typeof CONCURRENCIES)[number];

/** Values of fields that are not set. */
export const SCHEDULE_DEFAULTS = {
  timeZone: 'Etc/UTC',
  component: 'api',
  timeoutSeconds: TASK_LIMITS.defaultTimeoutSeconds,
  concurrency: 'forbid',
} as const;

/** How late a run may start that was missed during an outage, in seconds. A run that would be later is omitted. */
export const MISSED_RUN_SECONDS = 600;

/** A name that can be part of a path, and the value of a label. */
export const SCHEDULE_NAME = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;

const NAME =
  'Name, unique in the deployment: lower case letters, digits and hyphens. A schedule with another name is another schedule.';
const EXPRESSION =
  'Cron expression of five fields (minute, hour, day of month, month, day of week), or @hourly, @daily, @weekly, @monthly, @yearly.';
const TIME_ZONE = 'IANA time zone of the expression, such as Europe/Berlin. Default: Etc/UTC.';
const COMMAND = 'Program and arguments, exactly as they are run. No shell reads them.';
const COMPONENT = 'Component whose environment, sizes and volumes the runs have. Default: api.';
const TIMEOUT = `Time after which a run is ended, in seconds. Default: ${SCHEDULE_DEFAULTS.timeoutSeconds}.`;
const SUSPEND = 'true: the schedule starts no runs. A run that is active continues. Default: false.';
const CONCURRENCY =
  'What happens if a run is due and the former run has not ended. forbid: the new run is omitted. allow: both run. replace: the former ' +
  'run is ended. Default: forbid.';

const expressionSchema = line(SCHEDULE_LIMITS.expression).superRefine((expression, ctx) => {
  const parsed = parseCron(expression);
  if (typeof parsed === 'string') ctx.addIssue({ code: 'custom', message: parsed });
});

const timeZoneSchema = line(SCHEDULE_LIMITS.timeZone).refine(
  isTimeZone,
  'must be the name of an IANA time zone, such as Europe/Berlin or Etc/UTC, in upper and lower case as there',
);

const nameSchema = z
  .string()
  .min(1)
  .max(SCHEDULE_LIMITS.name)
  .regex(
    SCHEDULE_NAME,
    'must contain only lower case letters, digits and hyphens, and no hyphen at its ends',
  );

const timeoutSchema = z.int().min(1).max(TASK_LIMITS.maxTimeoutSeconds);

/** In the custom resource, $ is written as $$. */
const lengthInCluster = (argument: string) => argument.replaceAll('$', '$$$$').length;

const argumentSchema = text(TASK_LIMITS.argumentLength).refine(
  (argument) => lengthInCluster(argument) <= TASK_LIMITS.argumentLength,
  `must not have more than ${TASK_LIMITS.argumentLength} characters, of which each $ counts twice`,
);

const commandSchema = z
  .array(argumentSchema)
  .min(1)
  .max(TASK_LIMITS.arguments)
  .refine(([program]) => program !== '', 'the first item is the program, which must not be empty');

/** A schedule in a request. null has the same meaning as an absent field. */
export const scheduleBodySchema = z
  .strictObject({
    name: nameSchema.describe(NAME),
    schedule: expressionSchema.describe(EXPRESSION),
    time_zone: timeZoneSchema.nullish().describe(TIME_ZONE),
    command: commandSchema.describe(COMMAND),
    component: z.enum(COMPONENTS).nullish().describe(COMPONENT),
    timeout_seconds: timeoutSchema.nullish().describe(TIMEOUT),
    suspend: z.boolean().nullish().describe(SUSPEND),
    concurrency: z.enum(CONCURRENCIES).nullish().describe(CONCURRENCY),
  })
  .describe('A task that runs at the times of a cron expression.')
  .meta({
    examples: [{ name: 'nightly', schedule: '30 2 * * *', time_zone: 'Europe/Berlin', command: ['./clean'] }],
  });

const DESCRIPTION = `Tasks that run at fixed times in the active revision, at most ${SCHEDULE_LIMITS.schedules}. A change is applied in place, and replaces no pods.`;

/** schedules in a request. */
export const schedulesBodySchema = z
  .array(scheduleBodySchema)
  .max(SCHEDULE_LIMITS.schedules)
  .superRefine((schedules, ctx) => rejectDuplicates(schedules, ({ name }) => name, 'name', ctx))
  .superRefine((schedules, ctx) => {
    const bytes = Buffer.byteLength(JSON.stringify(schedules.map(({ command }) => command)));
    if (bytes > SCHEDULE_LIMITS.commandBytes) {
      const message = `must not have commands that are larger than ${SCHEDULE_LIMITS.commandBytes} bytes together`;
      ctx.addIssue({ code: 'custom', message });
    }
  })
  .nullish()
  .describe(`${DESCRIPTION} A PATCH replaces the list. null or an empty list removes all schedules.`);

/** A schedule in a response, and as it is stored. An unset field is absent. */
export const shownScheduleSchema = z
  .object({
    name: z.string().describe(NAME),
    schedule: z.string().describe(EXPRESSION),
    time_zone: z.string().optional().describe(TIME_ZONE),
    command: z.array(z.string()).describe(COMMAND),
    component: z.enum(COMPONENTS).optional().describe(COMPONENT),
    timeout_seconds: z.int().optional().describe(TIMEOUT),
    suspend: z.boolean().optional().describe(SUSPEND),
    concurrency: z.enum(CONCURRENCIES).optional().describe(CONCURRENCY),
  })
  .describe('A task that runs at the times of a cron expression.');
export type Schedule = z.infer<typeof shownScheduleSchema>;

/** schedules in a response. */
export const shownSchedulesSchema = z
  .array(shownScheduleSchema)
  .optional()
  .describe(`${DESCRIPTION} Absent: none.`);

/** The field as it is stored. It is absent if it is not set, so that deployments of earlier versions do not change. */
export interface SchedulesField {
  schedules?: Schedule[] | undefined;
}

/** The field as it is sent. */
export interface SchedulesBody {
  readonly schedules?: readonly z.infer<typeof scheduleBodySchema>[] | null | undefined;
}

const FIELDS = Object.keys(shownScheduleSchema.shape) as (keyof Schedule)[];

/** Only fields with a value, in the order of the contract. */
function withoutUnset(schedule: z.infer<typeof scheduleBodySchema>): Schedule {
  const given = FIELDS.map((field) => [field, schedule[field]]).filter(([, value]) => value != null);
  return Object.fromEntries(given) as Schedule;
}

/** The field as it is stored, for a POST and for a stored value. */
export function schedulesOf({ schedules }: SchedulesBody): SchedulesField {
  return schedules == null || schedules.length === 0 ? {} : { schedules: schedules.map(withoutUnset) };
}

/** Merges the list of a PATCH. An absent list keeps the stored one. */
export function mergeSchedules(stored: SchedulesField, sent: SchedulesBody): SchedulesField {
  return schedulesOf(sent.schedules === undefined ? stored : sent);
}
