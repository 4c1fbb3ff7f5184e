import { z } from 'zod';
import { quantitySchema } from '../../domain/kubernetes/quantity.ts';
import { COMPONENTS } from '../../domain/resource-spec/components.ts';
import { SCHEDULE_LIMITS } from '../../domain/schedules/schedules.ts';
import { TASK_LIMITS, TASK_ORIGINS, TASK_STATES } from '../../domain/tasks/task.ts';
import { MAX_TASK_MESSAGE } from '../resource/deployment-task.ts';
import { MAX_WAIT_SECONDS } from './work-protocol.ts';

/**
 * Tasks (part of the listener protocol, see work-protocol.ts). The hub sends all tasks that have not ended, so a listener that
 * starts needs no other state. The listener creates the custom resources that are missing, and reports their statuses.
 */

const commandSchema = z.array(z.string().max(TASK_LIMITS.argumentLength * 2)).max(TASK_LIMITS.arguments);

/** A task that has not ended. */
export const taskOrderSchema = z.object({
  task_id: z.string(),
  deployment_id: z.string(),
  name: z.string().describe('metadata.name of the DeploymentTask.'),
  namespace: z.string(),
  deployment: z.string().describe('metadata.name of the ManagedDeployment.'),
  observed: z
    .boolean()
    .describe('Whether the hub knows that the custom resource was created. It is then not created again.'),
  cancel: z.boolean().describe('Whether the task is to be cancelled.'),
  origin: z
    .enum(TASK_ORIGINS)
    .describe('custom-resource: the task was created in the cluster, whatever its origin there.'),
  schedule: z.string().optional().describe('The schedule that the task is a run of.'),
  revision: z.int().optional(),
  component: z.enum(COMPONENTS),
  command: commandSchema.describe('As in the custom resource: $$ stands for $.'),
  timeout_seconds: z.int(),
  cpu: quantitySchema.optional(),
  memory: quantitySchema.optional(),
});
export type TaskOrder = z.infer<typeof taskOrderSchema>;

/** Maximum number of orders of a response, the oldest tasks first. */
export const MAX_TASK_ORDERS = 1000;

/** `GET /v2/listeners/{listener_id}/tasks?epoch=&wait_seconds=25&known=`: long poll for the tasks that have not ended. */
export const taskOrdersQuerySchema = z.object({
  epoch: z.coerce.number().int().min(0),
  wait_seconds: z.coerce.number().min(0).max(MAX_WAIT_SECONDS).default(0),
  known: z
    .string()
    .max(64)
    .default('')
    .describe('version of the last response. The response waits until there is another version.'),
});
export const taskOrdersResponseSchema = z.object({
  version: z.string().describe('Hash of the orders.'),
  orders: z.array(taskOrderSchema),
});
export type TaskOrders = z.infer<typeof taskOrdersResponseSchema>;

/** Maximum number of reports of a call. */
export const MAX_TASK_REPORTS = 100;

const time = z.iso.datetime({ offset: true }).max(40);

/** The status of a task in the cluster. */
export const taskReportSchema = z.object({
  task_id: z.uuid().optional().describe('Id of the task in the hub. Absent: it was created outside the API.'),
  deployment_id: z.uuid(),
  name: z.string().max(63),
  namespace: z.string().max(63),
  deployment: z.string().max(63),
  uid: z
    .string()
    .max(64)
    .nullable()
    .describe(
      'Uid of the custom resource. null: it does not exist, so the task has ended in a way that is not known.',
    ),
  origin: z
    .enum(TASK_ORIGINS)
    .optional()
    .describe('Origin of a task without task_id. Absent: custom-resource.'),
  schedule: z
    .string()
    .max(SCHEDULE_LIMITS.name)
    .optional()
    .describe('Name of the schedule that the task is a run of.'),
  component: z.enum(COMPONENTS),
  command: commandSchema,
  timeout_seconds: z.int(),
  revision: z.object({ number: z.int(), id: z.string().max(64) }).optional(),
  state: z.enum(TASK_STATES),
  reason: z.string().max(64).optional(),
  message: z.string().max(MAX_TASK_MESSAGE).optional(),
  exit_code: z.int().optional(),
  created_at: time.optional(),
  started_at: time.optional(),
  ended_at: time.optional(),
});
export type TaskReport = z.infer<typeof taskReportSchema>;

/** `POST /v2/listeners/{listener_id}/task-reports`: reports contain states, so a repeated report has no effect. */
export const taskReportsRequestSchema = z.object({
  epoch: z.int(),
  reports: z.array(taskReportSchema).max(MAX_TASK_REPORTS),
});
export type TaskReportsRequest = z.infer<typeof taskReportsRequestSchema>;
export const taskReportsResponseSchema = z.object({ taken: z.int().describe('Number of reports.') });
