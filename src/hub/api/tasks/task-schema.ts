import { z } from 'zod';
import { uuidSchema } from '../../../domain/deployment/deployment-bodies.ts';
import { text } from '../../../domain/kubernetes/text.ts';
import { COMPONENTS } from '../../../domain/resource-spec/components.ts';
import { RESOURCE_LIMITS, withoutFloatNoise } from '../../../domain/resource-spec/resource-spec.ts';
import { SCHEDULE_LIMITS } from '../../../domain/schedules/schedules.ts';
import { TASK_LIMITS, TASK_ORIGINS, TASK_STATES } from '../../../domain/tasks/task.ts';
import { shownState, type TaskRecord } from '../../store/tasks/tasks.ts';
import { deploymentParams, pageSchema } from '../core/query.ts';
import { timeSchema } from '../deployments/deployment-schema.ts';
import { actorSchema } from '../events/actor-schema.ts';

/** Tasks in requests and responses. */

export const taskParams = deploymentParams.extend({ task_id: uuidSchema.describe('Id of the task.') });

export const scheduleParams = deploymentParams.extend({
  schedule: z.string().min(1).max(SCHEDULE_LIMITS.name).describe('Name of the schedule.'),
});

export const createTaskSchema = z
  .strictObject({
    command: z
      .array(text(TASK_LIMITS.argumentLength))
      .min(1)
      .max(TASK_LIMITS.arguments)
      .refine(([program = '']) => program !== '', 'the first item is the program, which must not be empty')
      .describe('Program and arguments, exactly as they are run. No shell reads them.'),
    component: z
      .enum(COMPONENTS)
      .nullish()
      .describe('Component whose environment, sizes and volumes the task has. Default: api.'),
    revision_id: uuidSchema.nullish().describe('Revision that the task runs. Default: the active revision.'),
    timeout_seconds: z
      .int()
      .min(1)
      .max(TASK_LIMITS.maxTimeoutSeconds)
      .nullish()
      .describe(
        `Time after which the command is ended, in seconds. Default ${TASK_LIMITS.defaultTimeoutSeconds}.`,
      ),
    cpu: z
      .number()
      .overwrite(withoutFloatNoise)
      .positive()
      .max(RESOURCE_LIMITS.cpu)
      .nullish()
      .describe('Cores, as request and limit. Default: those of the component.'),
    memory_mb: z
      .int()
      .min(1)
      .max(RESOURCE_LIMITS.memoryMb)
      .nullish()
      .describe('Memory in MiB, as request and limit. Default: that of the component.'),
  })
  .meta({ id: 'CreateTask', description: 'A command to run once in the image of a deployment.' });

export const taskSchema = z
  .object({
    id: uuidSchema.describe('Id, a UUID.'),
    deployment_id: uuidSchema.describe('The deployment.'),
    name: z.string().describe('Name of the DeploymentTask and of its Job in the cluster.'),
    origin: z
      .enum(TASK_ORIGINS)
      .describe(
        'Who requested the task. schedule: it is a run of a schedule. custom-resource: it was created in the cluster, outside the API.',
      ),
    schedule: z.string().nullable().describe('Name of the schedule that the task is a run of. null: none.'),
    revision_id: uuidSchema.nullable().describe('The revision. null: not known.'),
    revision_number: z.int().nullable().describe('Number of the revision. null: not known.'),
    component: z.enum(COMPONENTS).describe('The component.'),
    command: z.array(z.string()).describe('Program and arguments.'),
    timeout_seconds: z.int().describe('Time after which the command is ended, in seconds.'),
    cpu: z.number().nullable().describe('Cores. null: those of the component.'),
    memory_mb: z.int().nullable().describe('Memory in MiB. null: that of the component.'),
    state: z
      .enum([...TASK_STATES, 'UNKNOWN'])
      .describe(
        'The observed state. SUCCEEDED, FAILED, TIMED_OUT and CANCELLED are final. UNKNOWN: the cluster is not observed now, and the task may be running or have ended.',
      ),
    reason: z.string().nullable().describe('Why the task is in this state, as one word.'),
    message: z.string().nullable().describe('Details of the reason, without output of the command.'),
    exit_code: z.int().nullable().describe('Exit code of the command. null: it has not ended by itself.'),
    cancel_requested: z.boolean().describe('Whether the cancellation was requested.'),
    created_by: actorSchema.describe('Who requested the task.'),
    created_at: timeSchema.describe('Time of the request.'),
    started_at: timeSchema
      .nullable()
      .describe('When the command started. null: it was not observed to start.'),
    ended_at: timeSchema
      .nullable()
      .describe('When the task reached its final state. null: it has not ended.'),
  })
  .meta({ id: 'Task', description: 'A command that runs once in a pod of its own.' });

export const taskPageSchema = pageSchema('TaskPage', taskSchema, 'A page of tasks.');

/** @param isAlive whether the listener observes the cluster now */
export function presentTask(task: TaskRecord, isAlive: boolean): z.infer<typeof taskSchema> {
  const state = shownState(task, isAlive);
  const isUnknown = state === 'UNKNOWN';
  return {
    id: task.id,
    deployment_id: task.deploymentId,
    name: task.name,
    origin: task.origin,
    schedule: task.schedule,
    revision_id: task.revisionId,
    revision_number: task.revisionNumber,
    component: task.component,
    command: [...task.command],
    timeout_seconds: task.timeoutSeconds,
    cpu: task.cpu,
    memory_mb: task.memoryMb,
    state,
    reason: isUnknown ? null : task.reason,
    message: isUnknown ? 'The cluster of the deployment is not observed now.' : task.message,
    exit_code: task.exitCode,
    cancel_requested: task.cancelRequestedAt !== null,
    created_by: {
      kind: task.actorKind as z.infer<typeof actorSchema>['kind'],
      id: task.actorId,
      name: task.actorName,
    },
    created_at: task.createdAt.toISOString(),
    started_at: task.startedAt?.toISOString() ?? null,
    ended_at: task.endedAt?.toISOString() ?? null,
  };
}
