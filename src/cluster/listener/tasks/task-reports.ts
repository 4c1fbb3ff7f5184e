import type { TaskOrder, TaskReport } from '../../../contract/protocol/task-protocol.ts';
import { DEPLOYMENT_TASK, MANAGED_DEPLOYMENT } from '../../../contract/resource/definition.ts';
import type { DeploymentTask } from '../../../contract/resource/deployment-task.ts';
import { ANNOTATIONS } from '../../../contract/resource/names.ts';
import { UUID_PATTERN } from '../../../domain/core/id.ts';
import type { KubeObject } from '../../kube/client/object.ts';

/** Custom resources of tasks ↔ messages of the hub. Pure. */

export type TaskObject = DeploymentTask & KubeObject;

/** The custom resource of an order. @param ownerUid uid of the ManagedDeployment; absent: the operator sets the owner */
export function taskResource(order: TaskOrder, ownerUid: string | undefined): TaskObject {
  const { apiVersion, kind } = DEPLOYMENT_TASK;
  const owner = { apiVersion: MANAGED_DEPLOYMENT.apiVersion, kind: MANAGED_DEPLOYMENT.kind };
  return {
    apiVersion,
    kind,
    metadata: {
      name: order.name,
      namespace: order.namespace,
      ...(order.cancel ? { annotations: { [ANNOTATIONS.cancel]: 'true' } } : {}),
      ...(ownerUid === undefined
        ? {}
        : { ownerReferences: [{ ...owner, name: order.deployment, uid: ownerUid }] }),
    },
    spec: {
      deployment: order.deployment,
      ...(order.revision === undefined ? {} : { revision: order.revision }),
      component: order.component,
      command: [...order.command],
      timeoutSeconds: order.timeout_seconds,
      ...(order.cpu === undefined ? {} : { cpu: order.cpu }),
      ...(order.memory === undefined ? {} : { memory: order.memory }),
      origin: order.origin,
      ...(order.schedule === undefined ? {} : { schedule: order.schedule }),
      taskId: order.task_id,
    },
  };
}

/** Whether a custom resource has the id of an order of the hub. */
export const isOfOrder = ({ spec }: TaskObject, { task_id: id }: TaskOrder): boolean => spec.taskId === id;

/**
 * The report of a custom resource. null: it does not belong to a deployment of the hub, or the operator has not observed it.
 * @param deploymentId `spec.deploymentId` of its ManagedDeployment
 */
export function reportOf(task: TaskObject, deploymentId: string | undefined): TaskReport | null {
  const { metadata, spec, status } = task;
  if (deploymentId === undefined || !UUID_PATTERN.test(deploymentId)) return null;
  const { taskId, origin, schedule } = spec;
  if (taskId !== undefined && !UUID_PATTERN.test(taskId)) return null;
  const { state = 'QUEUED', reason, message, exitCode, revision, startTime, completionTime } = status ?? {};
  return {
    ...(taskId === undefined ? {} : { task_id: taskId }),
    deployment_id: deploymentId,
    name: metadata.name,
    namespace: metadata.namespace,
    deployment: spec.deployment,
    uid: metadata.uid ?? null,
    ...(taskId !== undefined || origin === 'custom-resource' ? {} : { origin }),
    ...(schedule === undefined ? {} : { schedule }),
    component: spec.component,
    command: spec.command,
    timeout_seconds: spec.timeoutSeconds,
    ...(revision === undefined ? {} : { revision }),
    state,
    ...(reason === undefined ? {} : { reason }),
    ...(message === undefined ? {} : { message }),
    ...(exitCode === undefined ? {} : { exit_code: exitCode }),
    ...(metadata.creationTimestamp === undefined ? {} : { created_at: metadata.creationTimestamp }),
    ...(startTime === undefined ? {} : { started_at: startTime }),
    ...(completionTime === undefined ? {} : { ended_at: completionTime }),
  };
}

/** The report of an order that ends without its custom resource. */
export function failedReport(order: TaskOrder, reason: 'JobLost' | 'Refused', message: string): TaskReport {
  return {
    ...(order.origin === 'custom-resource' ? {} : { task_id: order.task_id }),
    deployment_id: order.deployment_id,
    name: order.name,
    namespace: order.namespace,
    deployment: order.deployment,
    uid: null,
    component: order.component,
    command: order.command,
    timeout_seconds: order.timeout_seconds,
    state: 'FAILED',
    reason,
    message,
  };
}
