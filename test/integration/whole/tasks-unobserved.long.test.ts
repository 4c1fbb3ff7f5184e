/** Tasks of the API while the listener is away, on a real API server. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { BerthProcess } from '../../installation/berth-process.ts';
import { startWholeBerth, type WholeBerth } from '../harness/berth.ts';
import { kubectlAsAdmin } from '../harness/environment.ts';
import { createTaskDeployment, taskCalls } from '../harness/tasks.ts';

let berth: WholeBerth;
let listener: BerthProcess;
let tasks: ReturnType<typeof taskCalls>;
const startListener = () => berth.startRole('listener', 'listener', { BERTH_HUB_URL: berth.process().url });
beforeAll(async () => {
  // A short lease, so that the loss of the listener is noticed soon.
  berth = await startWholeBerth('tasks-lost', { start: 'api', settings: { BERTH_LEASE_SECONDS: '8' } });
  [listener] = await Promise.all([startListener(), berth.startRole('operator', 'operator')]);
  tasks = taskCalls(berth, await createTaskDeployment(berth));
});
afterAll(() => berth?.stop());

const kubectl = (...args: string[]) => kubectlAsAdmin(['-n', berth.namespace, ...args]);

test('shows UNKNOWN while the listener is away, and the state that it finds when it returns', async () => {
  const { path, run, until } = tasks;
  const [long, short] = [await run('sleep'), await run('sleep')];
  await until(long.id, 'RUNNING');
  await until(short.id, 'RUNNING');
  await listener.stop('SIGKILL');
  await until(long.id, 'UNKNOWN');
  await kubectl('annotate', 'mtask', short.name, 'berth.dev/cancel=true');
  listener = await startListener();
  expect(await until(short.id, 'CANCELLED', 'RUNNING')).toBeDefined();
  expect(await until(short.id, 'CANCELLED')).toMatchObject({ exit_code: null });
  await until(long.id, 'RUNNING');
  await berth.call('POST', path(`/${long.id}/cancel`));
  await until(long.id, 'CANCELLED');
});
