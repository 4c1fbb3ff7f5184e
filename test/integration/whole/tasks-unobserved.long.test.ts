/** Tasks of the API while the listener is away, on a real API server. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { waitFor } from '../../cluster/wait.ts';
import type { BerthProcess } from '../../installation/berth-process.ts';
import { smallDeployment, startWholeBerth, type WholeBerth } from '../harness/berth.ts';
import { kubectlAsAdmin } from '../harness/environment.ts';

interface Task {
  id: string;
  name: string;
  state: string;
  reason: string | null;
  exit_code: number | null;
  origin: string;
  revision_number: number | null;
  command: string[];
  created_by: { kind: string; name: string | null };
  started_at: string | null;
  ended_at: string | null;
}

let berth: WholeBerth;
let listener: BerthProcess;
let id: string;
const startListener = () => berth.startRole('listener', 'listener', { BERTH_HUB_URL: berth.process().url });
beforeAll(async () => {
  // A short lease, so that the loss of the listener is noticed soon.
  berth = await startWholeBerth('tasks-lost', { start: 'api', settings: { BERTH_LEASE_SECONDS: '8' } });
  [listener] = await Promise.all([startListener(), berth.startRole('operator', 'operator')]);
  const body = smallDeployment('shop') as { source_config: object };
  const off = { database: { enabled: false }, cache: { enabled: false } };
  const made = await berth.create({ ...body, source_config: { ...body.source_config, ...off } });
  id = made.id;
  await berth.ready(id);
});
afterAll(() => berth?.stop());

const path = (rest = '') => `/v2/deployments/${id}/tasks${rest}`;
const kubectl = (...args: string[]) => kubectlAsAdmin(['-n', berth.namespace, ...args]);

async function run(...command: string[]): Promise<Task> {
  const { status, body } = await berth.call<Task>('POST', path(), { command });
  expect(status, JSON.stringify(body)).toBe(201);
  return body;
}

const read = async (task: string) => (await berth.call<Task>('GET', path(`/${task}`))).body;
const until = (task: string, ...states: string[]) =>
  waitFor(
    `task ${task} to be ${states.join(' or ')}`,
    async () => {
      const found = await read(task);
      return states.includes(found.state) ? found : undefined;
    },
    { timeoutMs: 60_000, intervalMs: 100 },
  );
test('shows UNKNOWN while the listener is away, and the state that it finds when it returns', async () => {
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
