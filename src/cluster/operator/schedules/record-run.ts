import type { V1PodTemplateSpec } from '@kubernetes/client-node';
import { DEPLOYMENT_TASK, MAX_TASK_NAME } from '../../../contract/resource/definition.ts';
import { deploymentTaskSpecSchema } from '../../../contract/resource/deployment-task.ts';
import { ANNOTATIONS, LABELS } from '../../../contract/resource/names.ts';
import { APP_CONTAINER_NAME } from '../../../domain/deployment/reserved.ts';
import { ownerReference } from '../../../workloads/owner.ts';
import type { KubeObject } from '../../kube/client/object.ts';
import type { ObservedResource } from '../observed.ts';
import type { TaskJob, TaskResource } from '../tasks/observed-task.ts';
import { isJobOfCronJob } from '../tasks/task-caches.ts';

/** The task that represents a Job of a CronJob in the history. Pure. */

/** A Job with its pod template. */
export interface WholeJob extends KubeObject {
  spec?: { template?: V1PodTemplateSpec };
}

/** The Jobs of CronJobs that no task represents. The task has the name of the Job. */
export function unrecordedRuns(runs: readonly TaskJob[], tasks: readonly TaskResource[]): TaskJob[] {
  const recorded = new Set(tasks.map(({ metadata }) => metadata.name));
  return runs.filter(
    (job) =>
      isJobOfCronJob(job) &&
      job.metadata.deletionTimestamp === undefined &&
      job.metadata.name.length <= MAX_TASK_NAME &&
      !recorded.has(job.metadata.name),
  );
}

/** The task of a Job; null: another writer has changed the Job, so that no task can describe it. */
export function taskOfJob(resource: ObservedResource, job: WholeJob): KubeObject | null {
  const { name, namespace, labels = {}, annotations = {} } = job.metadata;
  const pod = job.spec?.template?.spec;
  const spec = deploymentTaskSpecSchema.safeParse({
    deployment: resource.metadata.name,
    revision: Number(annotations[ANNOTATIONS.revisionNumber]),
    component: annotations[ANNOTATIONS.component],
    command: pod?.containers.find((each) => each.name === APP_CONTAINER_NAME)?.command,
    timeoutSeconds: pod?.activeDeadlineSeconds,
    origin: 'schedule',
    schedule: labels[LABELS.schedule],
  });
  if (!spec.success) return null;
  const { apiVersion, kind } = DEPLOYMENT_TASK;
  return {
    apiVersion,
    kind,
    metadata: {
      name,
      ...(namespace === undefined ? {} : { namespace }),
      ownerReferences: [ownerReference(resource.metadata)],
    },
    spec: spec.data,
  } as KubeObject;
}
