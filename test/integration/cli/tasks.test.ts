/** `berth run` and `berth tasks`, as a user calls them, against a running API without a cluster. */
import { expect, test } from 'vitest';
import { waitFor } from '../../cluster/wait.ts';
import { api, one, run, usesApi, yaml } from './user.ts';

usesApi();

async function shop(): Promise<string> {
  await run(0, ['apply', '-f', '-'], {}, yaml('shop'));
  const { id, latest_revision_id: revision } = await one('shop');
  await api.store.sql('UPDATE deployments SET active_revision_id = $2 WHERE id = $1', [id, revision]);
  return id;
}

/** Ends the next task of a deployment, as the report of a listener does. */
async function ends(deploymentId: string, state: string, exitCode: number | null): Promise<void> {
  const found = () =>
    api.store.sql<{ id: string }>('SELECT id FROM tasks WHERE deployment_id = $1 AND ended_at IS NULL', [
      deploymentId,
    ]);
  const [task] = await waitFor(
    'the task to be stored',
    async () => {
      const rows = await found();
      return rows.length > 0 ? rows : undefined;
    },
    { timeoutMs: 30_000 },
  );
  await api.store.sql(
    'UPDATE tasks SET state = $2, exit_code = $3, handed_out_at = now(), ended_at = now() WHERE id = $1',
    [task?.id, state, exitCode],
  );
}

test.each([
  ['SUCCEEDED', 0, 0],
  ['FAILED', 7, 7],
  ['FAILED', null, 125],
  ['TIMED_OUT', null, 124],
  ['CANCELLED', null, 125],
] as const)(
  'run ends with the exit code of the command: %s with %s gives %s',
  async (state, exitCode, code) => {
    const id = await shop();
    const [done] = await Promise.all([
      run(code, ['run', 'shop', '--', 'migrate', '--component', '--all']),
      ends(id, state, exitCode),
    ]);
    expect(done.err).toContain(state);
    const listed = await run(0, ['tasks', 'list', 'shop', '-o', 'json']);
    expect(JSON.parse(listed.out).resources[0]).toMatchObject({
      state,
      command: ['migrate', '--component', '--all'],
      component: 'api',
    });
  },
);

test('tasks get and cancel find a task by its name', async () => {
  await shop();
  const made = await run(0, [
    'run',
    '--detach',
    '-o',
    'json',
    '--component',
    'queue',
    'shop',
    '--',
    'sleep',
    '60',
  ]);
  const task = JSON.parse(made.out) as { name: string };
  expect(task).toMatchObject({ state: 'QUEUED', component: 'queue' });
  await run(0, ['tasks', 'cancel', 'shop', task.name]);
  expect((await run(0, ['tasks', 'get', 'shop', task.name])).out).toContain('CANCELLED');
  expect((await run(1, ['tasks', 'get', 'shop', 'other'])).err).toContain('no task "other"');
  expect((await run(2, ['run', 'shop'])).err).toContain('missing required argument');
});
