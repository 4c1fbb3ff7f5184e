/** `berth schedules`, as a user calls it, against a running API without a cluster. */
import { expect, test } from 'vitest';
import { waitFor } from '../../cluster/wait.ts';
import { api, one, run, usesApi, yaml } from './user.ts';

usesApi();

async function shop(): Promise<string> {
  await run(0, ['apply', '-f', '-'], {}, yaml('shop'));
  const { id, latest_revision_id: revision } = await one('shop');
  const schedules = [
    { name: 'nightly', schedule: '30 2 * * *', time_zone: 'Europe/Berlin', command: ['./clean', '--all'] },
    { name: 'weekly', schedule: '@weekly', suspend: true, concurrency: 'allow', command: ['./report'] },
  ];
  await api.store.sql(
    `UPDATE deployments SET active_revision_id = $2,
       source_config = source_config || jsonb_build_object('schedules', $3::jsonb) WHERE id = $1`,
    [id, revision, JSON.stringify(schedules)],
  );
  return id;
}

test('schedules list shows each schedule with its last run', async () => {
  await shop();
  await run(0, ['schedules', 'run', 'shop', 'nightly', '--detach']);
  const { out } = await run(0, ['schedules', 'list', 'shop']);
  expect(out).toMatch(/nightly\s+30 2 \* \* \*\s+Europe\/Berlin\s+no\s+forbid\s+QUEUED/);
  expect(out).toMatch(/weekly\s+@weekly\s+Etc\/UTC\s+yes\s+allow\s+-/);
});

test('schedules run ends with the exit code of the command, and fails for a schedule that does not exist', async () => {
  const id = await shop();
  const end = async () => {
    const rows = await waitFor(
      'the task to be stored',
      async () => {
        const found = await api.store.sql<{ id: string }>(
          "SELECT id FROM tasks WHERE deployment_id = $1 AND schedule = 'weekly' AND ended_at IS NULL",
          [id],
        );
        return found.length > 0 ? found : undefined;
      },
      { timeoutMs: 30_000 },
    );
    await api.store.sql(
      "UPDATE tasks SET state = 'FAILED', exit_code = 7, handed_out_at = now(), ended_at = now() WHERE id = $1",
      [rows[0]?.id],
    );
  };
  await Promise.all([run(7, ['schedules', 'run', 'shop', 'weekly']), end()]);
  const { err } = await run(1, ['schedules', 'run', 'shop', 'monthly']);
  expect(err).toContain('schedule does not exist');
});
