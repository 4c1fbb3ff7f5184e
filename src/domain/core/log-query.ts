import { z } from 'zod';
import { COMPONENTS } from '../resource-spec/components.ts';

/** Sources of logs: the components of the app, and the data services that Berth runs. */
export const LOGGED_COMPONENTS = [...COMPONENTS, 'database', 'cache'] as const;
export const loggedComponentSchema = z
  .enum(LOGGED_COMPONENTS)
  .describe('Source of logs: a component of the app, or a data service that Berth runs.');
export type LoggedComponent = z.infer<typeof loggedComponentSchema>;

/** A query for log lines of a deployment. */
export const logQuerySchema = z.strictObject({
  component: loggedComponentSchema
    .optional()
    .describe('Return only logs of this component. Absent: all components.'),
  revision_id: z
    .uuid()
    .optional()
    .describe('Return only logs of pods of this revision. Absent: all revisions.'),
  since: z.string().max(40).optional().describe('Return only lines from this time or later, ISO 8601.'),
  limit: z.int().min(1).max(10_000).describe('Maximum number of lines of each container, the newest ones.'),
  follow: z.boolean().describe('True: continue with new lines.'),
  previous: z.boolean().optional().describe('True: logs of the previous instance of restarted containers.'),
  task_uid: z
    .string()
    .max(64)
    .optional()
    .describe(
      'Return only logs of the pod of this task, by the uid of its custom resource. Absent: no pods of tasks.',
    ),
  task_job: z
    .string()
    .max(63)
    .optional()
    .describe(
      'With task_uid: the task is a run of a schedule, whose pod does not have the uid. Return only logs of the pod of this Job.',
    ),
});
export type LogQuery = z.infer<typeof logQuerySchema>;

/** Query features that earlier listeners do not support. A listener reports the features that it supports. */
export const LOG_ABILITIES = ['previous', 'tasks'] as const;
export type LogAbility = (typeof LOG_ABILITIES)[number];

/** Everything that a listener reports as supported. `tasks`: it runs tasks, and reads their logs. `objects`: it reads the objects of a deployment (object-map.ts). */
export const LISTENER_ABILITIES = [...LOG_ABILITIES, 'objects'] as const;
export type ListenerAbility = (typeof LISTENER_ABILITIES)[number];

/** The feature that a query needs. null: no feature. */
export function neededFor({ previous, task_uid: task }: LogQuery): LogAbility | null {
  if (task !== undefined) return 'tasks';
  return previous ? 'previous' : null;
}

/** A line of the log of a workload. */
export const logLineSchema = z.strictObject({
  at: z
    .string()
    .max(40)
    .describe('Time of the line, RFC 3339, with nanoseconds if the cluster provides them.'),
  component: z
    .enum([...LOGGED_COMPONENTS, 'task'])
    .describe('Source of the line: a component of the app, a data service that Berth runs, or a task.'),
  pod: z.string().describe('Name of the pod.'),
  container: z
    .string()
    .describe('Name of the container: `app`, a sidecar, an init container, a data service.'),
  revision_id: z.uuid().optional().describe('Revision that the pod runs. Absent: none.'),
  text: z.string().describe('The line, without its line end. A very long line is split at "…".'),
});
export type WorkloadLogLine = z.infer<typeof logLineSchema>;
