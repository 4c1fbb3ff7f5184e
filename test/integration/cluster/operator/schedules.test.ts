/** Schedules: an operator with the rights of its account, a real API server, CronJob controller and Job controller. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { UntypedObject } from '../../../../src/cluster/kube/client/object.ts';
import type { DeploymentTaskStatus } from '../../../../src/contract/resource/deployment-task.ts';
import { cronJobName } from '../../../../src/contract/resource/names.ts';
import { waitFor } from '../../../cluster/wait.ts';
import { kubectlAsAdmin } from '../../harness/environment.ts';
import {
  type OperatorWorld,
  operatorWorld,
  type RunningOperator,
  startOperator,
} from '../../harness/operator.ts';

let world: OperatorWorld;
let operator: RunningOperator;
const NEVER = '0 0 1 1 *';
const schedule = (name: string, command: string, more: object = {}) => ({
  name,
  schedule: NEVER,
  command: [command],
  ...more,
});
const appWith = (schedules: object[], more: object = {}) => ({
  revision: { number: 1, image: 'registry.example/shop:1' },
  database: { enabled: false },
  cache: { enabled: false },
  schedules,
  ...more,
});
beforeAll(async () => {
  world = await operatorWorld('schedules');
  operator = await startOperator(world.settings);
});
afterAll(async () => {
  await operator?.stop();
  await world?.end();
});

const WAIT = { timeoutMs: 60_000, intervalMs: 100 };
const cronJobOf = (app: string, name: string) => world.get('cronjob', cronJobName(app, name));
const specOf = (object: UntypedObject | undefined) => (object?.['spec'] ?? {}) as Record<string, unknown>;

/** Waits until the CronJob of a schedule has these fields. */
const untilCronJob = (app: string, name: string, fields: object) =>
  waitFor(
    `the CronJob of ${app}/${name} to have ${JSON.stringify(fields)}`,
    async () => {
      const found = await cronJobOf(app, name);
      return found !== undefined &&
        Object.entries(fields).every(([key, value]) => specOf(found)[key] === value)
        ? found
        : undefined;
    },
    WAIT,
  );

const imageOf = (cronJob: UntypedObject | undefined) =>
  (
    specOf(cronJob)['jobTemplate'] as
      | { spec: { template: { spec: { containers: { image: string }[] } } } }
      | undefined
  )?.spec.template.spec.containers[0]?.image;

/** Starts a run without waiting for its time, as the CronJob controller would. */
const start = (app: string, name: string, run: string) =>
  kubectlAsAdmin([
    `--namespace=${world.namespace}`,
    'create',
    'job',
    run,
    `--from=cronjob/${cronJobName(app, name)}`,
  ]);
const untilTask = (name: string, state: string) =>
  waitFor(
    `the task ${name} to be ${state}`,
    async () => {
      const task = await world.get('mtask', name);
      const status = (task?.['status'] ?? {}) as DeploymentTaskStatus;
      return task !== undefined && status.state === state ? { task, status } : undefined;
    },
    WAIT,
  );
const untilCondition = (app: string, reason: string) =>
  waitFor(
    `the condition of ${app} to be ${reason}`,
    async () =>
      (await world.status(app)).conditions?.find(
        (each) => each.type === 'SchedulesHealthy' && each.reason === reason,
      ),
    WAIT,
  );

test('records each run as a task, and keeps a run that is active when another revision becomes active', async () => {
  await world.apply('shop', appWith([schedule('nightly', 'migrate'), schedule('long', 'sleep')]));
  await world.ready('shop');
  const cronJob = await untilCronJob('shop', 'nightly', { suspend: false });
  expect(specOf(cronJob)).toMatchObject({
    schedule: NEVER,
    timeZone: 'Etc/UTC',
    concurrencyPolicy: 'Forbid',
  });
  await untilCronJob('shop', 'long', { suspend: false });
  await untilCondition('shop', 'SchedulesRunning');
  await start('shop', 'nightly', 'nightly-1');
  const { task, status } = await untilTask('nightly-1', 'SUCCEEDED');
  expect(task['spec']).toMatchObject({
    deployment: 'shop',
    revision: 1,
    command: ['migrate'],
    origin: 'schedule',
    schedule: 'nightly',
  });
  expect(status).toMatchObject({ exitCode: 0, revision: { number: 1 } });
  expect(task.metadata.ownerReferences).toMatchObject([{ kind: 'ManagedDeployment' }]);
  expect((await world.get('job', 'nightly-1'))?.metadata.uid).toBe(status.jobUid);

  await start('shop', 'long', 'long-1');
  const { status: running } = await untilTask('long-1', 'RUNNING');
  const generation = cronJob.metadata.generation;
  const next = { revision: { number: 2, image: 'registry.example/shop:2' } };
  await world.apply('shop', appWith([schedule('nightly', 'migrate'), schedule('long', 'sleep')], next));
  await waitFor(
    'the CronJob to run revision 2',
    async () => (imageOf(await cronJobOf('shop', 'nightly'))?.endsWith('shop:2') ? true : undefined),
    WAIT,
  );
  expect((await world.status('shop')).activeRevision?.number).toBe(2);
  expect((await cronJobOf('shop', 'nightly'))?.metadata.generation).toBe((generation ?? 0) + 1);
  expect((await untilTask('long-1', 'RUNNING')).status.jobUid).toBe(running.jobUid);
  await world.kubectl('annotate', 'mtask', 'long-1', 'berth.dev/cancel=true');
  await untilTask('long-1', 'CANCELLED');
});

test('applies changes in place, without a rollout, and removes schedules with their last Job', async () => {
  await world.apply('inplace', appWith([schedule('a', 'migrate'), schedule('b', 'migrate')]));
  await world.ready('inplace');
  await untilCronJob('inplace', 'a', { suspend: false });
  await untilCronJob('inplace', 'b', { suspend: false });
  const deployment = async () => (await world.get('deployment', 'inplace-api'))?.metadata.generation;
  const before = await deployment();
  await start('inplace', 'b', 'of-b');
  await untilTask('of-b', 'SUCCEEDED');
  await world.apply(
    'inplace',
    appWith([schedule('a', 'migrate', { suspend: true, timeZone: 'Europe/Berlin' })]),
  );
  await untilCronJob('inplace', 'a', { suspend: true, timeZone: 'Europe/Berlin' });
  // Its Job still has logs.
  await untilCronJob('inplace', 'b', { suspend: true });
  await world.kubectl('delete', 'job', 'of-b');
  await world.gone('cronjob', cronJobName('inplace', 'b'));
  expect((await untilTask('of-b', 'SUCCEEDED')).status.exitCode).toBe(0);
  expect(await deployment()).toBe(before);
  expect((await world.status('inplace')).activeRevision?.number).toBe(1);
});

test('reverts an edit of a CronJob, and creates a deleted one again', async () => {
  await world.apply('edited', appWith([schedule('a', 'migrate')]));
  await world.ready('edited');
  await untilCronJob('edited', 'a', { suspend: false });
  const name = cronJobName('edited', 'a');
  const patch = JSON.stringify({ spec: { concurrencyPolicy: 'Allow' } });
  await kubectlAsAdmin([`--namespace=${world.namespace}`, 'patch', 'cronjob', name, '-p', patch]);
  await untilCronJob('edited', 'a', { concurrencyPolicy: 'Forbid' });
  const uid = (await cronJobOf('edited', 'a'))?.metadata.uid;
  await world.kubectl('delete', 'cronjob', name);
  await waitFor(
    'another CronJob',
    async () => {
      const found = await cronJobOf('edited', 'a');
      return found !== undefined && found.metadata.uid !== uid ? true : undefined;
    },
    WAIT,
  );
});

test('reports schedules that cannot run and schedules that fail repeatedly, and stays READY', async () => {
  await world.apply(
    'failing',
    appWith([schedule('bad', 'exit-3'), schedule('zone', 'a', { timeZone: 'Mars/One' })]),
  );
  await world.ready('failing');
  const refused = await untilCondition('failing', 'ScheduleRefused');
  expect(refused.message).toMatch(/^zone: spec.schedules\[1\].timeZone/);
  await world.apply('failing', appWith([schedule('bad', 'exit-3')]));
  await untilCondition('failing', 'SchedulesRunning');
  for (const name of ['bad-1', 'bad-2', 'bad-3']) {
    await start('failing', 'bad', name);
    await untilTask(name, 'FAILED');
  }
  const failing = await untilCondition('failing', 'ScheduleFailing');
  expect(failing).toMatchObject({
    status: 'False',
    message: expect.stringMatching(/^bad: the last 3 runs failed/),
  });
  expect((await world.status('failing')).deploymentStatus).toBe('READY');
});

test('suspends the CronJobs and cancels the runs of a deployment that is switched off', async () => {
  await world.apply('offline', appWith([schedule('a', 'sleep')]));
  await world.ready('offline');
  await untilCronJob('offline', 'a', { suspend: false });
  await start('offline', 'a', 'of-offline');
  await untilTask('of-offline', 'RUNNING');
  await world.apply('offline', appWith([schedule('a', 'sleep')], { suspend: true }));
  expect((await untilTask('of-offline', 'CANCELLED')).status.reason).toBe('DeploymentOff');
  await untilCronJob('offline', 'a', { suspend: true });
  await untilCondition('offline', 'SwitchedOff');
  await world.apply('offline', appWith([schedule('a', 'sleep')]));
  await untilCronJob('offline', 'a', { suspend: false });
  await world.kubectl('delete', 'mdep', 'offline');
  await world.gone('cronjob', cronJobName('offline', 'a'));
});

test('does not take over a CronJob of another client', async () => {
  const name = cronJobName('taken', 'a');
  const template = { spec: { restartPolicy: 'Never', containers: [{ name: 'a', image: 'a' }] } };
  const spec = { schedule: NEVER, suspend: true, jobTemplate: { spec: { template } } };
  const object = { apiVersion: 'batch/v1', kind: 'CronJob', metadata: { name }, spec };
  await kubectlAsAdmin([`--namespace=${world.namespace}`, 'create', '-f', '-'], JSON.stringify(object));
  await world.apply('taken', appWith([schedule('a', 'migrate')]));
  const { message } = await untilCondition('taken', 'ScheduleRefused');
  expect(message).toContain(`another CronJob has the name ${name}`);
  expect(specOf(await world.get('cronjob', name))['concurrencyPolicy']).toBe('Allow');
});
