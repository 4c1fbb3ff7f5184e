import { z } from 'zod';
import { quantitySchema } from '../../domain/kubernetes/quantity.ts';
import { text } from '../../domain/kubernetes/text.ts';
import { COMPONENTS } from '../../domain/resource-spec/components.ts';
import { SCHEDULE_LIMITS, SCHEDULE_NAME } from '../../domain/schedules/schedules.ts';
import { TASK_LIMITS, TASK_ORIGINS, TASK_STATES } from '../../domain/tasks/task.ts';
import { type DEPLOYMENT_TASK, MAX_APP_NAME } from './definition.ts';
import type { ResourceMetadata } from './managed-deployment.ts';
import { timeString } from './managed-deployment-parts.ts';

/**
 * The custom resource of a task. Image, environment, service account and volumes come from the revision of the deployment,
 * so they are no fields. The spec cannot be changed.
 */

/** The program and its arguments. */
export const taskCommandSchema = z.array(text(TASK_LIMITS.argumentLength)).min(1).max(TASK_LIMITS.arguments);

/** `spec` of a DeploymentTask. */
export const deploymentTaskSpecSchema = z
  .strictObject({
    deployment: z
      .string()
      .min(1)
      .max(MAX_APP_NAME)
      .describe('Name of the ManagedDeployment in the same namespace.'),
    revision: z
      .int()
      .min(1)
      .optional()
      .describe('Number of the revision that the task runs. Absent: the active revision at the start.'),
    component: z
      .enum(COMPONENTS)
      .default('api')
      .describe('Component whose environment, sidecars, resources and placement the task has.'),
    command: taskCommandSchema.describe(
      'Program and arguments, instead of those of the component. $(NAME) expands to a variable, and $$ to $.',
    ),
    timeoutSeconds: z
      .int()
      .min(1)
      .max(TASK_LIMITS.maxTimeoutSeconds)
      .default(TASK_LIMITS.defaultTimeoutSeconds)
      .describe('Time after which the command is ended, in seconds.'),
    cpu: quantitySchema
      .optional()
      .describe('Cores, as request and limit. Absent: those of the component. The policy bounds them.'),
    memory: quantitySchema
      .optional()
      .describe('Memory, as request and limit. Absent: that of the component. The policy bounds it.'),
    origin: z
      .enum(TASK_ORIGINS)
      .default('custom-resource')
      .describe('Who requested the task. Only Berth may set another value than custom-resource.'),
    schedule: z
      .string()
      .max(SCHEDULE_LIMITS.name)
      .regex(SCHEDULE_NAME)
      .optional()
      .describe('Name of the schedule that the task is a run of. Only with the origin schedule.'),
    taskId: z
      .string()
      .max(64)
      .optional()
      .describe('Id of the task in the hub. Absent: the hub did not create it.'),
  })
  .describe('The requested task.');
export type DeploymentTaskSpec = z.infer<typeof deploymentTaskSpecSchema>;

/** Maximum length of the message in the status. */
export const MAX_TASK_MESSAGE = 1024;

/** `status` of a DeploymentTask. It contains no output of the command. */
export const deploymentTaskStatusSchema = z
  .object({
    state: z.enum(TASK_STATES).optional().describe('The observed state.'),
    reason: z.string().max(64).optional().describe('Why the task is in this state, as one word.'),
    message: z.string().max(MAX_TASK_MESSAGE).optional().describe('Details of the reason, without output.'),
    exitCode: z.int().optional().describe('Exit code of the command. Absent: it has not ended by itself.'),
    revision: z
      .strictObject({
        number: z.int().min(1).describe('Number of the revision.'),
        id: z.string().max(64).describe('Id of the revision, or its number without a hub.'),
      })
      .optional()
      .describe('The revision that the task runs.'),
    jobUid: z
      .string()
      .max(64)
      .optional()
      .describe(
        'Uid of the Job. The Job does not run before its uid is recorded here, so that no second Job runs.',
      ),
    startTime: timeString.optional().describe('When the command started.'),
    completionTime: timeString.optional().describe('When the task reached its final state.'),
  })
  .describe('Observed state. Only the operator writes it.');
export type DeploymentTaskStatus = z.infer<typeof deploymentTaskStatusSchema>;

/** An owner of a task. */
interface TaskOwner {
  apiVersion: string;
  kind: string;
  name: string;
  uid: string;
}

/** The custom resource, as read from the cluster. */
export interface DeploymentTask {
  apiVersion: typeof DEPLOYMENT_TASK.apiVersion;
  kind: typeof DEPLOYMENT_TASK.kind;
  metadata: ResourceMetadata & { ownerReferences?: TaskOwner[] };
  spec: DeploymentTaskSpec;
  status?: DeploymentTaskStatus;
}
