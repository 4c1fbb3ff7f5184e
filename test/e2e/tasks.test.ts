/** Tasks on a real node: commands in containers, with a real PostgreSQL. */
import { createServer, type Server } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connectInside, listening, splice } from '../cluster/real-node/tunnel.ts';
import { waitFor } from '../cluster/wait.ts';
import { type Run, runProgram } from '../integration/cli/cli.ts';
import type { DeploymentAnswer } from '../integration/harness/berth.ts';
import { call, create, http, image, node, service, untilReady, whySkipped } from './harness/environment.ts';
import { startTraffic } from './harness/traffic.ts';

interface Task {
  id: string;
  schedule: string | null;
  state: string;
  revision_number: number | null;
}

const MIGRATE = ['node', '/app/e2e/migrate.js'];

describe.skipIf(whySkipped() !== undefined)('tasks', () => {
  let created: DeploymentAnswer;
  let forwarder: Server;
  beforeAll(async () => {
    const { api, stateDir } = node();
    forwarder = await listening(
      createServer((socket) => splice(socket, connectInside(stateDir, api.host, api.port))),
      { host: '127.0.0.1', port: 0 },
    );
    created = await create('ledger', 'shop:1');
    await untilReady(created.id);
  });
  afterAll(() => forwarder?.close());

  /** `berth` on this machine, as a user runs it. */
  const berth = (...words: string[]): Promise<Run> => {
    const address = forwarder.address() as { port: number };
    const env = { BERTH_URL: `http://127.0.0.1:${address.port}`, BERTH_API_KEY: node().apiKey };
    return runProgram(words, { env });
  };
  const migrations = async (): Promise<string[]> => {
    const { body } = await http(await service(created.id), 'GET', '/migrations');
    return (JSON.parse(body) as { name: string }[]).map(({ name }) => name);
  };

  it('berth run prints the output of a shell command, and ends with its exit code', async () => {
    const { code, out, err } = await berth(
      'run',
      created.name,
      '--',
      'sh',
      '-c',
      'echo "in $COMPONENT"; exit 3',
    );
    expect(code, err).toBe(3);
    expect(out).toContain('in api\n');
  });

  it('a task changes the database of its deployment', async () => {
    const { code, out, err } = await berth('run', created.name, '--', ...MIGRATE, 'one-off');
    expect(code, err).toBe(0);
    expect(out).toContain('migration one-off of version 1\n');
    expect(await migrations()).toEqual(['one-off']);
  });

  interface Revision {
    status: string;
    message: string | null;
  }
  const patch = (body: object) => call('PATCH', `/v2/deployments/${created.id}`, body);
  const release = (app: string, ...command: string[]) =>
    patch({ source_revision_config: { image_uri: image(app), release_command: command } });

  it('keeps the former version serving without a lost request when a release command fails', async () => {
    const traffic = startTraffic(await service(created.id));
    try {
      await waitFor('the first answer', async () => traffic.served['1'], { timeoutMs: 30_000 });
      traffic.failures.length = 0;
      const { latest_revision_id: id } = await release('shop:2', ...MIGRATE, 'broken', 'fails');
      const failed = await waitFor(
        'the revision to fail',
        async () => {
          const found = await call<Revision>('GET', `/v2/deployments/${created.id}/revisions/${id}`);
          return found.status === 'DEPLOY_FAILED' ? found : undefined;
        },
        { timeoutMs: 120_000, intervalMs: 300 },
      );
      expect(failed.message).toContain('exit code 4');
      const path = `/v2/deployments/${created.id}/revisions/${id}/explain`;
      const explained = JSON.stringify(await call('GET', path));
      expect(explained).toContain('migration broken cannot change the table');
    } finally {
      await traffic.stop();
    }
    expect(traffic.failures).toEqual([]);
    expect(Object.keys(traffic.served)).toEqual(['1']);
    expect(await migrations()).toEqual(['one-off']);
  });

  it('migrates the database with a release command before the new version serves', async () => {
    await release('shop:2', ...MIGRATE, 'second');
    await untilReady(created.id);
    expect(await migrations()).toEqual(['one-off', 'second']);
    const { body } = await http(await service(created.id), 'GET', '/');
    expect(JSON.parse(body)).toMatchObject({ version: '2' });
  });

  it('runs a schedule every minute, in the active revision', async () => {
    const schedules = [{ name: 'tick', schedule: '* * * * *', command: [...MIGRATE, 'tick'] }];
    await patch({ source_config: { schedules } });
    const ran = async () => (await migrations()).includes('tick');
    await waitFor('the schedule to run', ran, { timeoutMs: 150_000, intervalMs: 1000 });
    const task = await waitFor(
      'its task to have succeeded',
      async () => {
        const { resources } = await call<{ resources: Task[] }>('GET', `/v2/deployments/${created.id}/tasks`);
        return resources.find(({ schedule, state }) => schedule === 'tick' && state === 'SUCCEEDED');
      },
      { timeoutMs: 60_000, intervalMs: 500 },
    );
    expect(task.revision_number).toBe(3);
    const { code, out } = await berth('tasks', 'logs', created.name, task.id);
    expect([code, out]).toEqual([0, expect.stringContaining('migration tick of version 2')]);
    await patch({ source_config: { schedules: [] } });
  });
});
