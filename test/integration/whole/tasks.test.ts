/** Tasks of the API: through HTTP, PostgreSQL, listener, operator and the Job controller, on a real API server. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { waitFor } from '../../cluster/wait.ts';
import { startWholeBerth, type WholeBerth } from '../harness/berth.ts';
import { kubectlAsAdmin } from '../harness/environment.ts';
import { createTaskDeployment, type Task, taskCalls } from '../harness/tasks.ts';

let berth: WholeBerth;
let id: string;
let app: string;
let tasks: ReturnType<typeof taskCalls>;
beforeAll(async () => {
  berth = await startWholeBerth('tasks-api');
  id = await createTaskDeployment(berth);
  tasks = taskCalls(berth, id);
  app = `shop-${id.replaceAll('-', '').slice(-8)}`;
});
afterAll(() => berth?.stop());

const kubectl = (...args: string[]) => kubectlAsAdmin(['-n', berth.namespace, ...args]);

const list = async () =>
  (await berth.call<{ resources: Task[] }>('GET', tasks.path('?limit=100'))).body.resources;

test('runs a command in the cluster, and reports its exit code and who requested it', async () => {
  const asked = await tasks.run('migrate', '$(HOSTNAME)');
  expect(asked).toMatchObject({ state: 'QUEUED', origin: 'api', revision_number: 1, exit_code: null });
  const done = await tasks.until(asked.id, 'SUCCEEDED');
  expect(done).toMatchObject({ exit_code: 0, reason: null, created_by: { kind: 'api_key' } });
  expect(done.started_at).not.toBeNull();
  expect(done.ended_at).not.toBeNull();
  const object = JSON.parse(await kubectl('get', 'mtask', asked.name, '-o', 'json')) as {
    spec: object;
    metadata: { ownerReferences: object[] };
  };
  // No shell and no kubelet expands what a client of the API sends.
  expect(object.spec).toMatchObject({
    origin: 'api',
    taskId: asked.id,
    command: ['migrate', '$$(HOSTNAME)'],
  });
  expect(object.metadata.ownerReferences).toMatchObject([{ kind: 'ManagedDeployment', name: app }]);
  const events = await berth.call<{ resources: { reason: string; actor: { kind: string } }[] }>(
    'GET',
    `/v2/deployments/${id}/events?limit=100`,
  );
  const kinds = events.body.resources
    .filter(({ reason }) => reason.startsWith('Task'))
    .map(({ reason, actor }) => `${reason} ${actor.kind}`);
  expect(kinds).toEqual(expect.arrayContaining(['TaskEnded listener', 'TaskRequested api_key']));
});

test('reports the exit code of a command that fails', async () => {
  const { id: task } = await tasks.run('exit-7');
  expect(await tasks.until(task, 'FAILED')).toMatchObject({ exit_code: 7, reason: 'CommandFailed' });
});

test('cancels a task, and a second cancellation changes nothing', async () => {
  const { id: task } = await tasks.run('sleep');
  await tasks.until(task, 'RUNNING');
  expect((await berth.call('POST', tasks.path(`/${task}/cancel`))).status).toBe(200);
  expect(await tasks.until(task, 'CANCELLED')).toMatchObject({ exit_code: null });
  const again = await berth.call<Task>('POST', tasks.path(`/${task}/cancel`));
  expect(again.body).toMatchObject({ state: 'CANCELLED' });
});

test('fails a task whose custom resource was removed, and does not create it again', async () => {
  const { id: task, name } = await tasks.run('sleep');
  await tasks.until(task, 'RUNNING');
  await kubectl('delete', 'mtask', name);
  expect(await tasks.until(task, 'FAILED')).toMatchObject({ reason: 'JobLost', exit_code: null });
  expect(await kubectl('get', 'mtask', name, '--ignore-not-found')).toBe('');
});

test('lists tasks that were created in the cluster, as made outside the API', async () => {
  const object = {
    apiVersion: 'berth.dev/v1alpha1',
    kind: 'DeploymentTask',
    metadata: { name: 'by-hand' },
    spec: { deployment: app, command: ['exit-4'] },
  };
  await kubectlAsAdmin(['-n', berth.namespace, 'create', '-f', '-'], JSON.stringify(object));
  const found = await waitFor(
    'the task to be listed',
    async () => (await list()).find(({ name, state }) => name === 'by-hand' && state === 'FAILED'),
    { timeoutMs: 60_000, intervalMs: 200 },
  );
  expect(found).toMatchObject({ origin: 'custom-resource', exit_code: 4, command: ['exit-4'] });
});

test('runs many tasks at once', async () => {
  const asked = await Promise.all(Array.from({ length: 8 }, () => tasks.run('migrate')));
  for (const { id: task } of asked) await tasks.until(task, 'SUCCEEDED');
  const names = new Set(asked.map(({ name }) => name));
  expect(names.size).toBe(8);
});
