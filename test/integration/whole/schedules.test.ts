/** Schedules of the API: through HTTP, PostgreSQL, listener, operator and the CronJob controller, on a real API server. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { cronJobName } from '../../../src/contract/resource/names.ts';
import { waitFor } from '../../cluster/wait.ts';
import { startWholeBerth, type WholeBerth } from '../harness/berth.ts';
import { kubectlAsAdmin } from '../harness/environment.ts';
import { createTaskDeployment, type Task, taskCalls } from '../harness/tasks.ts';

let berth: WholeBerth;
let id: string;
let app: string;
let tasks: ReturnType<typeof taskCalls>;
const schedules = [{ name: 'nightly', schedule: '0 0 1 1 *', command: ['migrate', '$(HOSTNAME)'] }];
beforeAll(async () => {
  berth = await startWholeBerth('schedules-api');
  id = await createTaskDeployment(berth);
  tasks = taskCalls(berth, id);
  app = `shop-${id.replaceAll('-', '').slice(-8)}`;
  const patched = await berth.call('PATCH', `/v2/deployments/${id}`, { source_config: { schedules } });
  expect(patched.status).toBe(200);
});
afterAll(() => berth?.stop());

const kubectl = (...args: string[]) => kubectlAsAdmin(['-n', berth.namespace, ...args]);
const WAIT = { timeoutMs: 60_000, intervalMs: 200 };

test('lists a run of the cluster as a task with the schedule, and returns its logs', async () => {
  const cronJob = cronJobName(app, 'nightly');
  const exists = async () =>
    (await kubectl('get', 'cronjob', cronJob, '--ignore-not-found')) === '' ? undefined : true;
  await waitFor('the CronJob to exist', exists, WAIT);
  await kubectl('create', 'job', 'scheduled', `--from=cronjob/${cronJob}`);
  const found = await waitFor(
    'the run to be listed',
    async () => {
      const { body } = await berth.call<{ resources: (Task & { schedule: string | null })[] }>(
        'GET',
        tasks.path('?limit=100'),
      );
      return body.resources.find(({ name, state }) => name === 'scheduled' && state === 'SUCCEEDED');
    },
    WAIT,
  );
  expect(found).toMatchObject({
    origin: 'schedule',
    schedule: 'nightly',
    exit_code: 0,
    revision_number: 1,
    command: ['migrate', '$(HOSTNAME)'],
  });
  const logs = await berth.call('GET', tasks.path(`/${found.id}/logs`));
  expect(logs.status).toBe(200);
});

test('runs a schedule now, as a task that starts once', async () => {
  const asked = await berth.call<Task>('POST', `/v2/deployments/${id}/schedules/nightly/run`, {});
  expect(asked.status, JSON.stringify(asked.body)).toBe(201);
  const done = await tasks.until(asked.body.id, 'SUCCEEDED');
  expect(done).toMatchObject({ origin: 'schedule', exit_code: 0, created_by: { kind: 'api_key' } });
  const object = JSON.parse(await kubectl('get', 'mtask', done.name, '-o', 'json')) as { spec: object };
  expect(object.spec).toMatchObject({
    origin: 'schedule',
    schedule: 'nightly',
    taskId: asked.body.id,
    command: ['migrate', '$$(HOSTNAME)'],
  });
});
