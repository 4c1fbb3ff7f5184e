import { describe, expect, test } from 'vitest';
import { withHash } from '../../../../../src/cluster/kube/compare/compare.ts';
import { decideSchedules } from '../../../../../src/cluster/operator/schedules/decide-schedules.ts';
import { taskOfJob, unrecordedRuns } from '../../../../../src/cluster/operator/schedules/record-run.ts';
import { failingSchedules, newestRuns } from '../../../../../src/cluster/operator/schedules/run-results.ts';
import type { CronJobObject } from '../../../../../src/cluster/operator/schedules/schedule-caches.ts';
import { schedulesFinding } from '../../../../../src/cluster/operator/schedules/schedules-finding.ts';
import { decideTask } from '../../../../../src/cluster/operator/tasks/decide-task.ts';
import { historyOf } from '../../../../../src/cluster/operator/tasks/history.ts';
import { isReplaced } from '../../../../../src/cluster/operator/tasks/observe-task.ts';
import type { TaskJob } from '../../../../../src/cluster/operator/tasks/observed-task.ts';
import { isJobOf } from '../../../../../src/cluster/operator/tasks/task-caches.ts';
import type { ScheduleSpec } from '../../../../../src/contract/resource/schedule-spec.ts';
import { resolvePolicy } from '../../../../../src/domain/policy/policy.ts';
import { TASK_HISTORY, type TaskState } from '../../../../../src/domain/tasks/task.ts';
import {
  at,
  deploymentWith,
  endedPod,
  jobWith,
  NOW,
  observed,
  runningPod,
  taskWith,
} from '../tasks/fixtures.ts';

const POLICY = resolvePolicy('self_hosted');
const NIGHTLY: ScheduleSpec = { name: 'nightly', schedule: '30 2 * * *', command: ['./clean'] };
const withSchedules = (schedules: ScheduleSpec[], more: object = {}, spec: object = {}) =>
  deploymentWith({ ...more, spec: { schedules, ...spec } });
const decide = (
  deployment: ReturnType<typeof deploymentWith>,
  cronJobs: readonly CronJobObject[] = [],
  runs: readonly TaskJob[] = [],
  policy = POLICY,
) => decideSchedules({ deployment, cronJobs, runs }, policy);

/** The CronJob that the operator has created for a deployment. */
function created(deployment = withSchedules([NIGHTLY]), more: object = {}): CronJobObject {
  const [action] = decide(deployment).actions;
  if (action?.kind !== 'apply') throw new Error('no CronJob is applied');
  const object = withHash(action.object, 'berth.dev/applied-hash');
  return { ...object, metadata: { ...object.metadata, uid: 'uid-of-cron-job' }, ...more } as CronJobObject;
}

const runOf = (name: string, more: object = {}, schedule = 'nightly'): TaskJob => ({
  ...jobWith(),
  metadata: {
    name,
    namespace: 'team',
    uid: `uid-of-${name}`,
    creationTimestamp: at(0),
    labels: { 'berth.dev/schedule': schedule },
    ownerReferences: [
      { apiVersion: 'batch/v1', kind: 'CronJob', name: 'c', uid: 'uid-of-cron-job', controller: true },
    ],
    ...more,
  },
});

describe('the CronJobs of a deployment', () => {
  test('run the active revision, not the desired one, with the fields of the schedule', () => {
    const schedule: ScheduleSpec = {
      ...NIGHTLY,
      timeZone: 'Europe/Berlin',
      timeoutSeconds: 60,
      concurrency: 'replace',
    };
    const { actions, problems } = decide(withSchedules([schedule]));
    expect(problems).toEqual([]);
    expect(actions).toMatchObject([
      {
        kind: 'apply',
        live: undefined,
        object: {
          kind: 'CronJob',
          metadata: { name: expect.stringMatching(/^shop-nightly-[0-9a-f]{10}$/) },
          spec: {
            schedule: '30 2 * * *',
            timeZone: 'Europe/Berlin',
            concurrencyPolicy: 'Replace',
            suspend: false,
            startingDeadlineSeconds: 600,
            jobTemplate: {
              metadata: { annotations: { 'berth.dev/revision-number': '2', 'berth.dev/component': 'api' } },
              spec: {
                template: {
                  spec: {
                    activeDeadlineSeconds: 60,
                    containers: [{ name: 'app', image: 'app:2', command: ['./clean'] }],
                  },
                },
              },
            },
          },
        },
      },
    ]);
  });

  test('are not written again while nothing changed, and again after an edit and after a new active revision', () => {
    const deployment = withSchedules([NIGHTLY]);
    const live = created(deployment);
    expect(decide(deployment, [live]).actions).toEqual([]);
    const edited = { ...live, spec: { ...live.spec, suspend: true } };
    expect(decide(deployment, [edited]).actions).toMatchObject([{ kind: 'apply', live: edited }]);
    const next = withSchedules([NIGHTLY], { active: { number: 3, templates: 'shop-3' } });
    expect(decide(next, [live]).actions).toMatchObject([{ kind: 'apply' }]);
  });

  test('exist only after a revision became active', () => {
    expect(decide(withSchedules([NIGHTLY], { active: null })).actions).toEqual([]);
  });

  test('do not change while the deployment is paused, deleted or has the identity of another one', () => {
    const live = created();
    for (const more of [{ isPaused: true }, { deleting: true }, { isAccepted: false }])
      expect(decide(withSchedules([], more), [live])).toEqual({ actions: [], problems: [] });
  });

  test('are suspended while the deployment is off, with and without stored templates, and with suspend', () => {
    const live = created();
    const off = withSchedules([NIGHTLY], {}, { suspend: true });
    expect(decide(off, [live]).actions).toMatchObject([
      { kind: 'apply', object: { spec: { suspend: true } } },
    ]);
    const lost = withSchedules([NIGHTLY], { active: null }, { suspend: true });
    expect(decide(lost, [live]).actions).toMatchObject([{ kind: 'suspend' }]);
    expect(decide(withSchedules([{ ...NIGHTLY, suspend: true }])).actions).toMatchObject([
      { object: { spec: { suspend: true } } },
    ]);
  });

  test('of removed schedules are suspended while they have Jobs, and then deleted', () => {
    const live = created();
    const none = withSchedules([]);
    expect(decide(none, [live], [runOf('a')]).actions).toMatchObject([{ kind: 'suspend' }]);
    const suspended = { ...live, spec: { ...live.spec, suspend: true } };
    expect(decide(none, [suspended], [runOf('a')]).actions).toEqual([]);
    expect(decide(none, [suspended], []).actions).toMatchObject([{ kind: 'delete' }]);
  });

  test('of another deployment are left alone', () => {
    const live = created();
    const [owner] = live.metadata.ownerReferences ?? [];
    const foreign = {
      ...live,
      metadata: { ...live.metadata, ownerReferences: [{ ...owner, uid: 'another' }] },
    } as CronJobObject;
    expect(decide(withSchedules([]), [foreign]).actions).toEqual([]);
  });

  test('of schedules that are not allowed are suspended, and the field is named', () => {
    const wrong = (change: object, policy = POLICY) =>
      decide(withSchedules([{ ...NIGHTLY, ...change } as ScheduleSpec]), [created()], [], policy);
    expect(wrong({ schedule: '99 * * * *' })).toMatchObject({
      actions: [{ kind: 'suspend' }],
      problems: [
        { name: 'nightly', message: expect.stringMatching(/^spec.schedules\[0\].schedule: has a minute/) },
      ],
    });
    expect(wrong({ timeZone: 'Mars/One' }).problems[0]?.message).toMatch(/^spec.schedules\[0\].timeZone:/);
    expect(wrong({ component: 'queue' }).problems[0]?.message).toMatch(/revision 2 has no component queue/);
    const cloud = resolvePolicy('cloud', { schedules: { max_schedules: 0 } });
    expect(wrong({}, cloud).problems[0]?.message).toMatch(/must not have more than 0 entries/);
    expect(wrong({ schedule: '* * * * *' }, resolvePolicy('cloud')).problems[0]?.message).toMatch(/every 5/);
  });
});

describe('the task of a run', () => {
  const { resource } = withSchedules([NIGHTLY]);
  const job = {
    ...runOf('shop-nightly-1', {
      annotations: { 'berth.dev/revision-number': '2', 'berth.dev/component': 'api' },
    }),
    spec: {
      template: {
        spec: {
          activeDeadlineSeconds: 60,
          containers: [{ name: 'app', image: 'app:2', command: ['./clean'] }],
        },
      },
    },
  };

  test('has name, command, revision and owner of its Job', () => {
    expect(taskOfJob(resource, job)).toMatchObject({
      metadata: { name: 'shop-nightly-1', ownerReferences: [{ uid: resource.metadata.uid }] },
      spec: {
        deployment: 'shop',
        revision: 2,
        component: 'api',
        command: ['./clean'],
        timeoutSeconds: 60,
        origin: 'schedule',
        schedule: 'nightly',
      },
    });
  });

  test('does not exist for a Job that another writer changed', () => {
    expect(taskOfJob(resource, { ...job, spec: {} })).toBeNull();
    expect(taskOfJob(resource, { ...job, metadata: { ...job.metadata, annotations: {} } })).toBeNull();
  });

  test('is created once for each Job of a CronJob, and for no other Job', () => {
    const task = taskWith({ name: 'b' });
    const runs = [
      runOf('a'),
      runOf('b'),
      runOf('c', { ownerReferences: [] }),
      runOf('d', { deletionTimestamp: at(0) }),
      runOf('e'.repeat(58)),
    ];
    expect(unrecordedRuns(runs, [task]).map(({ metadata }) => metadata.name)).toEqual(['a']);
  });
});

describe('a run', () => {
  const spec = { origin: 'schedule', schedule: 'nightly', revision: 2 };
  const task = taskWith({ name: 'shop-nightly-1', spec });
  const job = runOf('shop-nightly-1');
  const see = (more: object) => decideTask(observed({ task, job, ...more }), POLICY, NOW);

  test('belongs to the Job of a CronJob with its schedule', () => {
    expect(isJobOf(job, task)).toBe(true);
    expect(isJobOf(runOf('shop-nightly-1', {}, 'other'), task)).toBe(false);
    expect(isJobOf(runOf('shop-nightly-1', { ownerReferences: [] }), task)).toBe(false);
    const requested = taskWith({ spec: { ...spec, taskId: 'x' } });
    expect(isJobOf(job, requested)).toBe(false);
  });

  test('is reported with the uid of its Job, and the operator starts and creates nothing', () => {
    expect(see({ pod: runningPod() })).toMatchObject({
      status: { state: 'RUNNING', jobUid: 'uid-of-shop-nightly-1', revision: { number: 2, id: 'r2' } },
      step: { kind: 'none' },
    });
    expect(see({ pod: endedPod(0) }).status).toMatchObject({ state: 'SUCCEEDED', exitCode: 0 });
    expect(see({ pod: endedPod(3) }).status).toMatchObject({ state: 'FAILED', reason: 'CommandFailed' });
  });

  test('fails without its Job, and is cancelled if the next run replaced it or the deployment is off', () => {
    expect(see({ job: null }).status).toMatchObject({ state: 'FAILED', reason: 'JobLost' });
    const known = taskWith({ name: task.metadata.name, spec, status: { jobUid: 'uid-of-shop-nightly-1' } });
    expect(see({ task: known, job: null, isReplaced: true }).status).toMatchObject({
      state: 'CANCELLED',
      reason: 'Replaced',
    });
    const off = see({ pod: runningPod(), deployment: deploymentWith({ spec: { suspend: true } }) });
    expect(off).toMatchObject({ status: { reason: 'DeploymentOff' }, step: { kind: 'delete' } });
  });

  test('is replaced only if its schedule says so and a newer run exists', () => {
    const newer = runOf('shop-nightly-2');
    const deployment = withSchedules([{ ...NIGHTLY, concurrency: 'replace' }]);
    expect(isReplaced(task, null, { deployment, runs: [newer] })).toBe(true);
    expect(isReplaced(task, null, { deployment, runs: [job] })).toBe(false);
    expect(isReplaced(task, job, { deployment, runs: [newer] })).toBe(false);
    expect(isReplaced(task, null, { deployment: withSchedules([NIGHTLY]), runs: [newer] })).toBe(false);
  });
});

describe('repeated failures', () => {
  const result = (index: number, state: TaskState, schedule = 'nightly') =>
    taskWith({
      name: `${schedule}-${index}`,
      created: -index * 60,
      spec: { origin: 'schedule', schedule },
      status: { state, message: 'the command ended with exit code 3', completionTime: at(-index * 60) },
    });
  const results = (...states: TaskState[]) => states.map((state, index) => result(index, state));
  const { resource } = withSchedules([NIGHTLY]);

  test('are those of the last three runs that have a result', () => {
    expect(failingSchedules(results('FAILED', 'FAILED', 'TIMED_OUT', 'SUCCEEDED')).size).toBe(1);
    expect(failingSchedules(results('RUNNING', 'FAILED', 'CANCELLED', 'FAILED', 'FAILED')).size).toBe(1);
    expect(failingSchedules(results('FAILED', 'FAILED')).size).toBe(0);
    expect(failingSchedules(results('SUCCEEDED', 'FAILED', 'FAILED', 'FAILED')).size).toBe(0);
  });

  test('make the condition False and name the last task, until a run succeeds', () => {
    const tasks = results('FAILED', 'FAILED', 'FAILED');
    expect(schedulesFinding(resource, [], tasks)).toMatchObject({
      status: 'False',
      reason: 'ScheduleFailing',
      message:
        'nightly: the last 3 runs failed, the last one is the task nightly-0: the command ended with exit code 3',
    });
    expect(schedulesFinding(resource, [], [result(-1, 'SUCCEEDED'), ...tasks])).toMatchObject({
      status: 'True',
      reason: 'SchedulesRunning',
    });
  });

  test('do not matter for suspended and removed schedules and deployments that are off', () => {
    const tasks = results('FAILED', 'FAILED', 'FAILED');
    const suspended = withSchedules([{ ...NIGHTLY, suspend: true }]).resource;
    expect(schedulesFinding(suspended, [], tasks)?.status).toBe('True');
    expect(schedulesFinding(withSchedules([]).resource, [], tasks)).toBeNull();
    const off = withSchedules([NIGHTLY], {}, { suspend: true }).resource;
    expect(schedulesFinding(off, [], tasks)?.reason).toBe('SwitchedOff');
  });

  test('come after schedules that cannot run', () => {
    const problems = [{ name: 'nightly', message: 'spec.schedules[0].schedule: is wrong' }];
    expect(schedulesFinding(resource, problems, [])).toMatchObject({
      status: 'False',
      reason: 'ScheduleRefused',
      message: 'nightly: spec.schedules[0].schedule: is wrong',
    });
  });

  test('can be counted for schedules that run rarely: the newest runs stay in the history', () => {
    const old = -TASK_HISTORY.taskSeconds / 60 - 100;
    const tasks = [0, 1, 2, 3].map((index) => result(-old + index, 'FAILED'));
    expect(newestRuns(tasks).size).toBe(3);
    const { expired, recheckAt } = historyOf(tasks, NOW);
    expect(expired.map(({ metadata }) => metadata.name)).toEqual([tasks[3]?.metadata.name]);
    expect(recheckAt).toBeNull();
  });
});
