/** Tasks on a real node: commands in containers, with a real PostgreSQL. */
import { createServer, type Server } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connectInside, listening, splice } from '../cluster/real-node/tunnel.ts';
import { type Run, runProgram } from '../integration/cli/cli.ts';
import type { DeploymentAnswer } from '../integration/harness/berth.ts';
import { create, http, node, service, untilReady, whySkipped } from './harness/environment.ts';

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
});
