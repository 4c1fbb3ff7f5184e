import type { V1PodTemplateSpec } from '@kubernetes/client-node';
import { DEPLOYMENT_TASK } from '../../../contract/resource/definition.ts';
import { type DeploymentTask, deploymentTaskSpecSchema } from '../../../contract/resource/deployment-task.ts';
import { ANNOTATIONS } from '../../../contract/resource/names.ts';
import { isFinalTaskState, type TaskReason } from '../../../domain/tasks/task.ts';
import type { KubeObject, UntypedObject } from '../../kube/client/object.ts';
import { identityFields } from '../observe/cached-fields.ts';
import type { ObservedPod, ObservedResource, PodCondition } from '../observed.ts';

/** What the operator has observed of one task. */
export interface ObservedTask {
  readonly task: TaskResource;
  /** The deployment of the task; null: the namespace has none of this name, or it belongs to another one of this name. */
  readonly deployment: TaskDeployment | null;
  /** The Job of the task; null: it does not exist. */
  readonly job: TaskJob | null;
  /** Whether another object has the name of the Job. */
  readonly isNameTaken: boolean;
  /** The newest pod of the Job; null: it has none. */
  readonly pod: ObservedPod | null;
  /** Why the cluster rejected the Job; null: it did not. */
  readonly refusal: TaskRefusal | null;
  /** Whether the next run of a schedule has replaced the Job. */
  readonly isReplaced: boolean;
}

export interface TaskRefusal {
  readonly reason: Extract<TaskReason, 'Refused' | 'Conflict'>;
  readonly message: string;
}

/** The custom resource with its defaults, as read from the cluster. */
export type TaskResource = DeploymentTask & {
  readonly metadata: { readonly uid: string; readonly resourceVersion: string };
};

/** Why a cluster without the definition runs no tasks, with the next step, as a part of a sentence. */
export const NO_TASKS = `the cluster has no CustomResourceDefinition ${DEPLOYMENT_TASK.plural}.${DEPLOYMENT_TASK.group}; install it (docs/install.md, Upgrade)`;

/** Whether the state of a task is final. */
export const hasTaskEnded = ({ status }: Pick<TaskResource, 'status'>): boolean =>
  status?.state !== undefined && isFinalTaskState(status.state);

/** The deployment of a task, as far as the task depends on it. */
export interface TaskDeployment {
  readonly resource: ObservedResource;
  readonly isPaused: boolean;
  /** Whether the deployment has stored templates that its tasks may run. Not if another resource has its identity. */
  readonly isAccepted: boolean;
  /** The active revision; null: none is active. */
  readonly active: { readonly number: number; readonly templates: string } | null;
  /** Stored templates, newest first. */
  readonly stored: readonly StoredRevision[];
}

export interface StoredRevision {
  readonly name: string;
  readonly number: number;
  readonly id: string;
  /** The template of each component. @throws Error if another writer created the object */
  templates(): Readonly<Record<string, V1PodTemplateSpec | undefined>>;
}

/** The fields of a Job that are read. */
export interface TaskJob extends KubeObject {
  spec?: { suspend?: boolean };
  status?: { startTime?: string; conditions?: PodCondition[] };
}

/** Drops unread fields of a Job. */
export function transformTaskJob(object: UntypedObject): UntypedObject {
  const { ownerReferences } = object.metadata;
  const { spec, status } = object as unknown as TaskJob;
  const metadata = {
    ...identityFields(object.metadata),
    ...(ownerReferences === undefined ? {} : { ownerReferences }),
  };
  return {
    apiVersion: object.apiVersion,
    kind: object.kind,
    metadata,
    spec: { suspend: spec?.suspend },
    status: { startTime: status?.startTime, conditions: status?.conditions },
  };
}

/**
 * Whether the Job of the task is that of a CronJob, which runs without Berth. The task represents it. A run that the hub has requested has
 * an id, and a Job of the operator.
 */
export const isOfCronJob = ({ spec: { origin, taskId } }: TaskResource): boolean =>
  origin === 'schedule' && taskId === undefined;

/** Parses a task. null: this version cannot parse it. */
export function readTask(object: UntypedObject): TaskResource | null {
  const spec = deploymentTaskSpecSchema.safeParse(object['spec']);
  return spec.success ? ({ ...object, spec: spec.data } as unknown as TaskResource) : null;
}

/** Whether the task was cancelled. */
export const isCancelled = ({ metadata: { annotations } }: KubeObject): boolean =>
  annotations?.[ANNOTATIONS.cancel] === 'true';
