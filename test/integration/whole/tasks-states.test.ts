/** Tasks and schedules while their deployment is paused, being deleted or restored, with a real API server and Job controller. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ANNOTATIONS } from '../../../src/contract/resource/names.ts';
import { waitFor } from '../../cluster/wait.ts';
import { runBerth } from '../../installation/berth-process.ts';
import { smallDeployment, startWholeBerth, type WholeBerth } from '../harness/berth.ts';
import { kubectlAsAdmin } from '../harness/environment.ts';
import { taskCalls } from '../harness/tasks.ts';

let berth: WholeBerth;
beforeAll(async () => {
  berth = await startWholeBerth('tasks-states', { settings: { BERTH_DELETION_GRACE: '600' } });
});
afterAll(() => berth?.stop());

const kubectl = (...args: string[]) => kubectlAsAdmin(['-n', berth.namespace, ...args]);
const names = async (kind: string, id: string) =>
  (await kubectl('get', kind, '-l', `berth.dev/deployment-id=${id}`, '-o', 'name'))
    .split('\n')
    .filter(Boolean);

/** A READY deployment without data services, with a schedule that is never due in this test. */
async function withSchedule(name: string) {
  const body = smallDeployment(name) as { source_config: object };
  const off = { database: { enabled: false }, cache: { enabled: false } };
  const schedules = [{ name: 'yearly', schedule: '0 0 1 1 *', command: ['clean'] }];
  const { id } = await berth.create({ ...body, source_config: { ...body.source_config, ...off, schedules } });
  await berth.ready(id);
  const isSuspended = async () =>
    (
      await kubectl(
        'get',
        'cronjob',
        '-l',
        `berth.dev/deployment-id=${id}`,
        '-o',
        'jsonpath={.items[*].spec.suspend}',
      )
    ).trim();
  const untilSuspended = (wanted: 'true' | 'false') =>
    waitFor(
      `the schedule of ${name} to have suspend=${wanted}`,
      async () => ((await isSuspended()) === wanted ? true : undefined),
      { timeoutMs: 60_000, intervalMs: 100 },
    );
  await untilSuspended('false');
  return { id, tasks: taskCalls(berth, id), untilSuspended };
}

test('cancels tasks and suspends schedules in the grace period of a deletion, and a restore starts no task again', async () => {
  const { id, tasks, untilSuspended } = await withSchedule('grace');
  const { id: task } = await tasks.run('sleep');
  await tasks.until(task, 'RUNNING');
  expect((await berth.call('DELETE', `/v2/deployments/${id}`)).status).toBeLessThan(300);
  expect(await tasks.until(task, 'CANCELLED')).toMatchObject({ reason: 'DeploymentDeleting' });
  await untilSuspended('true');
  expect((await berth.call('POST', tasks.path(), { command: ['clean'] })).status).toBe(409);
  expect((await berth.call('POST', `/v2/deployments/${id}/restore`)).status).toBeLessThan(300);
  await berth.ready(id);
  await untilSuspended('false');
  expect((await tasks.read(task)).state).toBe('CANCELLED');
  expect(await names('job', id)).toEqual([]);
  const { id: next } = await tasks.run('clean');
  await tasks.until(next, 'SUCCEEDED');
});

test('starts no task while the operator is paused for the deployment, and reports one that runs', async () => {
  const { id, tasks } = await withSchedule('paused');
  const { id: running, name } = await tasks.run('sleep');
  await tasks.until(running, 'RUNNING');
  const selector = `berth.dev/deployment-id=${id}`;
  const annotate = (value: string) =>
    kubectl('annotate', '--overwrite', 'mdep', '-l', selector, `${ANNOTATIONS.paused}${value}`);
  await annotate('=true');
  const { id: waiting } = await tasks.run('clean');
  await waitFor(
    'the new task to wait',
    async () => ((await tasks.read(waiting)).reason === 'DeploymentPaused' ? true : undefined),
    { timeoutMs: 60_000, intervalMs: 100 },
  );
  await kubectl('delete', 'pod', '-l', `batch.kubernetes.io/job-name=${name}`, '--force', '--grace-period=0');
  await tasks.until(running, 'FAILED');
  expect(await tasks.read(waiting)).toMatchObject({ state: 'QUEUED', reason: 'DeploymentPaused' });
  await annotate('-');
  await tasks.until(waiting, 'SUCCEEDED');
});

test('leaves the schedule in the cluster after a deletion with force, and deletes it with the custom resource', async () => {
  const { id } = await withSchedule('forced');
  const scopes = ['--tenant', 'test', '--name', 'admin', '--scopes', 'deployments:write,admin', '-o', 'json'];
  const created = await runBerth(berth.stateDir, ['keys', 'create', ...scopes], berth.settings);
  const { api_key: key } = JSON.parse(created) as { api_key: string };
  const url = new URL(`/v2/deployments/${id}?force=true`, berth.process().url);
  const { status } = await fetch(url, { method: 'DELETE', headers: { 'x-api-key': key } });
  expect(status).toBe(204);
  expect((await berth.call('GET', `/v2/deployments/${id}`)).status).toBe(404);
  const gone = async (kind: string) => ((await names(kind, id)).length === 0 ? true : undefined);
  if ((await names('mdep', id)).length > 0)
    await kubectl('delete', 'mdep', '-l', `berth.dev/deployment-id=${id}`);
  await waitFor('the schedule to be gone', () => gone('cronjob'), { timeoutMs: 60_000, intervalMs: 200 });
});
