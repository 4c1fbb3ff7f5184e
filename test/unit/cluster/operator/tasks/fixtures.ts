import type { V1PodTemplateSpec } from '@kubernetes/client-node';
import type { ObservedPod, ObservedResource } from '../../../../../src/cluster/operator/observed.ts';
import type {
  ObservedTask,
  TaskDeployment,
  TaskJob,
  TaskResource,
} from '../../../../../src/cluster/operator/tasks/observed-task.ts';
import {
  type DeploymentTaskStatus,
  deploymentTaskSpecSchema,
} from '../../../../../src/contract/resource/deployment-task.ts';
import { managedDeploymentSpecSchema } from '../../../../../src/contract/resource/managed-deployment.ts';

/** Tasks as they are observed in a cluster. */

export const NOW = new Date('2026-01-02T03:04:05Z');
export const at = (seconds: number) => new Date(NOW.getTime() + seconds * 1000).toISOString();
export const JOB_UID = 'uid-of-job';
export const DEPLOYMENT_UID = 'uid-of-deployment';

interface TaskOptions {
  spec?: object;
  status?: DeploymentTaskStatus;
  annotations?: Record<string, string>;
  /** Seconds from now. */
  created?: number;
  owned?: boolean;
  name?: string;
}

export function taskWith({
  spec = {},
  status,
  annotations = {},
  created = -5,
  owned = true,
  name = 'migrate',
}: TaskOptions = {}): TaskResource {
  const owner = {
    apiVersion: 'berth.dev/v1alpha1',
    kind: 'ManagedDeployment',
    name: 'shop',
    uid: DEPLOYMENT_UID,
  };
  return {
    apiVersion: 'berth.dev/v1alpha1',
    kind: 'DeploymentTask',
    metadata: {
      name,
      namespace: 'team',
      uid: `uid-of-${name}`,
      resourceVersion: '1',
      annotations,
      creationTimestamp: at(created),
      ...(owned ? { ownerReferences: [owner] } : {}),
    },
    spec: deploymentTaskSpecSchema.parse({ deployment: 'shop', command: ['migrate'], ...spec }),
    ...(status === undefined ? {} : { status }),
  };
}

const template = (image: string): V1PodTemplateSpec => ({
  metadata: { labels: {} },
  spec: {
    containers: [{ name: 'app', image }],
    volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'shop-files' } }],
  },
});

interface DeploymentOptions extends Partial<Omit<TaskDeployment, 'resource'>> {
  spec?: object;
  deleting?: boolean;
}

export function deploymentWith({
  spec = {},
  deleting = false,
  ...more
}: DeploymentOptions = {}): TaskDeployment {
  const resource: ObservedResource = {
    apiVersion: 'berth.dev/v1alpha1',
    kind: 'ManagedDeployment',
    metadata: {
      name: 'shop',
      namespace: 'team',
      uid: DEPLOYMENT_UID,
      resourceVersion: '1',
      generation: 1,
      ...(deleting ? { deletionTimestamp: at(0) } : {}),
    },
    spec: managedDeploymentSpecSchema.parse({ revision: { number: 3 }, ...spec }),
  };
  return {
    resource,
    isPaused: false,
    isAccepted: true,
    active: { number: 2, templates: 'shop-2' },
    stored: [3, 2].map((number) => ({
      name: `shop-${number}`,
      number,
      id: `r${number}`,
      templates: () => ({ api: template(`app:${number}`) }),
    })),
    ...more,
  };
}

interface JobOptions {
  suspend?: boolean;
  uid?: string;
  end?: { type: 'Complete' | 'Failed'; reason?: string; at?: number };
  /** Seconds from now. */
  started?: number;
}

export function jobWith({ suspend = false, uid = JOB_UID, end, started = -2 }: JobOptions = {}): TaskJob {
  const conditions =
    end === undefined
      ? []
      : [
          {
            type: end.type,
            status: 'True',
            lastTransitionTime: at(end.at ?? 0),
            ...(end.reason === undefined ? {} : { reason: end.reason }),
          },
        ];
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { name: 'migrate', namespace: 'team', uid, creationTimestamp: at(-3) },
    spec: { suspend },
    status: { ...(suspend ? {} : { startTime: at(started) }), conditions },
  };
}

type PodStatus = NonNullable<ObservedPod['status']>;
type AppState = NonNullable<NonNullable<PodStatus['containerStatuses']>[number]['state']>;

export function podWith(state: AppState | null, status: Partial<PodStatus> = {}): ObservedPod {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'migrate-abcde', namespace: 'team', uid: 'uid-of-pod', creationTimestamp: at(-2) },
    status: {
      phase: 'Pending',
      conditions: [{ type: 'PodScheduled', status: 'True' }],
      ...(state === null ? {} : { containerStatuses: [{ name: 'app', state }] }),
      ...status,
    },
  };
}

export const runningPod = () => podWith({ running: { startedAt: at(-1) } }, { phase: 'Running' });

export const endedPod = (exitCode: number, more: object = {}, status: Partial<PodStatus> = {}) =>
  podWith(
    { terminated: { exitCode, startedAt: at(-10), finishedAt: at(-1), ...more } },
    { phase: exitCode === 0 ? 'Succeeded' : 'Failed', ...status },
  );

export function observed(more: Partial<ObservedTask> = {}): ObservedTask {
  return {
    task: taskWith(),
    deployment: deploymentWith(),
    job: null,
    isNameTaken: false,
    pod: null,
    refusal: null,
    isReplaced: false,
    ...more,
  };
}
