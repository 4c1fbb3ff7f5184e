import { ANNOTATIONS, LABELS } from '../../../contract/resource/names.ts';
import type { ScheduleSpec } from '../../../contract/resource/schedule-spec.ts';
import type { Policy } from '../../../domain/policy/policy.ts';
import { intervalRefusal } from '../../../domain/policy/policy-schedules.ts';
import { SCHEDULE_DEFAULTS } from '../../../domain/schedules/schedules.ts';
import { isTimeZone } from '../../../domain/schedules/time-zone.ts';
import type { KubeObject as DesiredKubeObject } from '../../../workloads/desired-object.ts';
import { cronJob } from '../../../workloads/schedules/cron-job.ts';
import { controllerOf } from '../../kube/client/object.ts';
import { whyApply } from '../../kube/compare/compare.ts';
import { isMarked } from '../observe/ownership.ts';
import type { TaskDeployment, TaskJob } from '../tasks/observed-task.ts';
import { chosenRevision } from '../tasks/task-start.ts';
import type { CronJobObject } from './schedule-caches.ts';

/** Decides what happens to the CronJobs of a deployment. Pure. */

/** A schedule that cannot run, and why. */
export interface ScheduleProblem {
  readonly name: string;
  readonly message: string;
}

export type CronJobAction =
  | {
      readonly kind: 'apply';
      readonly name: string;
      readonly object: DesiredKubeObject;
      /** undefined: it does not exist. */
      readonly live: CronJobObject | undefined;
    }
  | { readonly kind: 'suspend'; readonly live: CronJobObject }
  | { readonly kind: 'delete'; readonly live: CronJobObject };

export interface ScheduleDecision {
  readonly actions: readonly CronJobAction[];
  readonly problems: readonly ScheduleProblem[];
}

interface Input {
  readonly deployment: TaskDeployment;
  /** The CronJobs with the name of the deployment. */
  readonly cronJobs: readonly CronJobObject[];
  /** The Jobs of these CronJobs. */
  readonly runs: readonly TaskJob[];
}

/**
 * A CronJob runs the active revision, so it changes only when a revision became active. The CronJob of a schedule that no longer exists is
 * suspended, and deleted when its last Job is gone, so that a run can end, and its logs can be read.
 */
export function decideSchedules({ deployment, cronJobs, runs }: Input, policy: Policy): ScheduleDecision {
  const { resource, isPaused, isAccepted, active } = deployment;
  const { schedules = [], suspend } = resource.spec;
  const own = cronJobs.filter((live) => isOwn(live, deployment));
  const isLeaving = resource.metadata.deletionTimestamp !== undefined;
  if (isPaused || !isAccepted || isLeaving) return { actions: [], problems: [] };
  const decided = schedules.map((schedule, index) => {
    const refused = refusalOf(schedule, index, policy);
    const live = own.find(({ metadata }) => metadata.labels?.[LABELS.schedule] === schedule.name);
    if (refused !== null || active === null) return { schedule, live, refused, object: null };
    const rendered = render(deployment, schedule, index);
    return typeof rendered === 'string'
      ? { schedule, live, refused: rendered, object: null }
      : { schedule, live, refused: null, object: rendered };
  });
  const wanted = new Set(schedules.map(({ name }) => name));
  const removed = own.filter(({ metadata }) => !wanted.has(metadata.labels?.[LABELS.schedule] ?? ''));
  return {
    actions: [
      ...decided.flatMap(({ schedule: { name }, live, refused, object }): CronJobAction[] => {
        // A deployment that is off runs nothing, and a schedule that is not allowed does not run in its former form.
        if (object === null) return refused !== null || suspend ? suspended(live) : [];
        return needsApply(object, live) ? [{ kind: 'apply', name, object, live }] : [];
      }),
      ...removed.flatMap((live): CronJobAction[] => {
        if (live.metadata.deletionTimestamp !== undefined) return [];
        const hasRuns = runs.some((job) => controllerOf(job)?.uid === live.metadata.uid);
        return hasRuns || (live.status?.active ?? []).length > 0
          ? suspended(live)
          : [{ kind: 'delete', live }];
      }),
    ],
    problems: decided.flatMap(({ schedule: { name }, refused }) =>
      refused === null ? [] : [{ name, message: refused }],
    ),
  };
}

const suspended = (live: CronJobObject | undefined): CronJobAction[] =>
  live === undefined || live.spec?.suspend === true ? [] : [{ kind: 'suspend', live }];

/** Whether a CronJob belongs to the deployment, also one that an earlier resource of the same identity has left. */
function isOwn(live: CronJobObject, { resource }: TaskDeployment): boolean {
  const owner = controllerOf(live);
  return owner === undefined ? isMarked(live, resource) : owner.uid === resource.metadata.uid;
}

const needsApply = (object: DesiredKubeObject, live: CronJobObject | undefined): boolean =>
  live === undefined || whyApply(object, live, ANNOTATIONS.appliedHash).length > 0;

/** Why the schedule may not run; null: it may. The message names the field. */
function refusalOf({ schedule, timeZone }: ScheduleSpec, index: number, policy: Policy): string | null {
  const { max_schedules: most } = policy.schedules;
  if (index >= most)
    return `spec.schedules: must not have more than ${most} entries (schedules.max_schedules of the policy)`;
  const problem = intervalRefusal(schedule, policy.schedules);
  if (problem !== null) return `spec.schedules[${index}].schedule: ${problem}`;
  if (timeZone === undefined || isTimeZone(timeZone)) return null;
  return `spec.schedules[${index}].timeZone: must be the name of an IANA time zone, such as Europe/Berlin`;
}

/** The CronJob; a string: why there can be none. */
function render(
  deployment: TaskDeployment,
  schedule: ScheduleSpec,
  index: number,
): DesiredKubeObject | string | null {
  const { component = SCHEDULE_DEFAULTS.component } = schedule;
  const chosen = chosenRevision({ component }, deployment);
  // The stored templates of the active revision are about to be written again.
  if (chosen?.revision === undefined) return null;
  const { revision, template } = chosen;
  if (template === undefined)
    return `spec.schedules[${index}].component: revision ${revision.number} has no component ${component}`;
  return cronJob(deployment.resource, schedule, { number: revision.number, template });
}
