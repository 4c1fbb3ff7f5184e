import { z } from 'zod';
import { COMPONENTS } from '../resource-spec/resource-spec.ts';

/** Whose logs there are: of the components of the app, and of the data services that Berth runs for it. */
export const LOGGED_COMPONENTS = [...COMPONENTS, 'database', 'cache'] as const;
export type LoggedComponent = (typeof LOGGED_COMPONENTS)[number];

/** Which lines of a deployment's logs somebody asks for. */
export const logQuerySchema = z.strictObject({
  component: z.enum(LOGGED_COMPONENTS).optional().describe('Only of this component. Absent: of all.'),
  revision_id: z.uuid().optional().describe('Only of pods of this revision. Absent: of all.'),
  since: z.string().max(40).optional().describe('Only lines from this time or later, ISO 8601.'),
  limit: z.int().min(1).max(10_000).describe('Maximum number of lines of each container, the newest ones.'),
  follow: z.boolean().describe('True: continue with new lines.'),
  previous: z.boolean().optional().describe('True: logs of the previous instance of restarted containers.'),
});
export type LogQuery = z.infer<typeof logQuerySchema>;

/** What listeners learned since there are logs; one of before does not say that it knows it. */
export const LOG_ABILITIES = ['previous'] as const;
export type LogAbility = (typeof LOG_ABILITIES)[number];

/** What a listener must know to read for a query; null: nothing but what all know. */
export const neededFor = ({ previous }: LogQuery): LogAbility | null => (previous ? 'previous' : null);

/** One line of a workload's log. */
export const logLineSchema = z.strictObject({
  at: z
    .string()
    .max(40)
    .describe('Time of the line, RFC 3339, with nanoseconds if the cluster provides them.'),
  component: z.enum(LOGGED_COMPONENTS).describe('Component that the pod belongs to.'),
  pod: z.string().describe('Name of the pod.'),
  container: z
    .string()
    .describe('Name of the container: `app`, a sidecar, an init container, a data service.'),
  revision_id: z.uuid().optional().describe('Revision that the pod runs. Absent: none.'),
  text: z.string().describe('The line, without its line end. A very long line is split at "…".'),
});
export type WorkloadLogLine = z.infer<typeof logLineSchema>;
