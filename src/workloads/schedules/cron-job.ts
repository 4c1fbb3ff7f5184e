import type { V1CronJobSpec, V1PodTemplateSpec } from '@kubernetes/client-node';
import type { ManagedDeployment } from '../../contract/resource/managed-deployment.ts';
import { ANNOTATIONS, cronJobName, LABELS } from '../../contract/resource/names.ts';
import type { ScheduleSpec } from '../../contract/resource/schedule-spec.ts';
import { type Concurrency, MISSED_RUN_SECONDS, SCHEDULE_DEFAULTS } from '../../domain/schedules/schedules.ts';
import type { KubeObject } from '../desired-object.ts';
import { commonLabels, TASK_COMPONENT } from '../labels.ts';
import { app } from '../names.ts';
import { ownerReferences } from '../owner.ts';
import { commandJobSpec, commandLabels } from '../tasks/task-job.ts';

/** The CronJob of a schedule, whose Jobs are those of other tasks. They run without Berth (docs/decisions/0148). */

/**
 * Number of ended Jobs of each schedule that are kept, of those that succeeded and of those that failed. The operator records each run
 * while its Job exists, so runs of a longer outage of the operator are not in the history.
 */
const JOBS_KEPT = 10;

const POLICIES: Readonly<Record<Concurrency, string>> = {
  forbid: 'Forbid',
  allow: 'Allow',
  replace: 'Replace',
};

/** The revision that the runs have. */
export interface RunRevision {
  readonly number: number;
  /** The stored template of the component. */
  readonly template: V1PodTemplateSpec;
}

export function cronJob(
  resource: ManagedDeployment,
  schedule: ScheduleSpec,
  { number, template }: RunRevision,
): KubeObject {
  const { name, command, concurrency = SCHEDULE_DEFAULTS.concurrency } = schedule;
  const { component = SCHEDULE_DEFAULTS.component } = schedule;
  const { timeoutSeconds = SCHEDULE_DEFAULTS.timeoutSeconds } = schedule;
  const own = { [LABELS.schedule]: name };
  const labels = { ...commandLabels(resource, template), ...own };
  const spec: V1CronJobSpec = {
    schedule: schedule.schedule,
    timeZone: schedule.timeZone ?? SCHEDULE_DEFAULTS.timeZone,
    concurrencyPolicy: POLICIES[concurrency],
    startingDeadlineSeconds: MISSED_RUN_SECONDS,
    suspend: schedule.suspend === true || resource.spec.suspend,
    successfulJobsHistoryLimit: JOBS_KEPT,
    failedJobsHistoryLimit: JOBS_KEPT,
    jobTemplate: {
      metadata: {
        labels,
        annotations: {
          [ANNOTATIONS.component]: component,
          [ANNOTATIONS.revisionNumber]: String(number),
        },
      },
      spec: commandJobSpec({ command, timeoutSeconds }, template, labels),
    },
  };
  return {
    apiVersion: 'batch/v1',
    kind: 'CronJob',
    metadata: {
      name: cronJobName(app(resource), name),
      namespace: resource.metadata.namespace,
      labels: { ...commonLabels(resource, TASK_COMPONENT), ...own },
      ...ownerReferences(resource),
    },
    spec,
  };
}
