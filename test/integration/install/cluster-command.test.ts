/** `npm run cluster`: up, status, env, down. */
import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';

let parent: string;
let state: string;
beforeAll(() => {
  parent = mkdtempSync(join(tmpdir(), 'berth command '));
  state = join(parent, 'state');
});
afterAll(async () => {
  await command('down');
  rmSync(parent, { recursive: true });
});

interface Result {
  code: number;
  stdout: string;
  stderr: string;
}

async function command(...args: string[]): Promise<Result> {
  try {
    const argv = ['scripts/cluster.ts', '--state', state, ...args];
    return { code: 0, ...(await promisify(execFile)(process.execPath, argv)) };
  } catch (error) {
    return error as Result;
  }
}

test('each command reports that there is no cluster', async () => {
  expect(await command('status')).toMatchObject({
    code: 1,
    stdout: expect.stringContaining('npm run cluster -- up'),
  });
  expect(await command('env')).toMatchObject({
    code: 1,
    stdout: '',
    stderr: expect.stringContaining('cluster -- up'),
  });
  expect(await command('down')).toMatchObject({ code: 0, stdout: 'There is no cluster to stop.\n' });
});

test.each([
  [['--help'], 0, /usage: npm run cluster/],
  [[], 2, /no command given/],
  [['sideways'], 2, /unknown command: sideways/],
  [['up', '--fast'], 2, /Unknown option '--fast'/],
  [['down', '--audit'], 2, /options of up only/],
])('the arguments %j cause the exit code %i', async (args, code, text) => {
  const result = await command(...args);
  expect(result.code).toBe(code);
  expect(result.stdout + result.stderr).toMatch(text);
});

test('up starts a cluster in the background, env prints its variables for a shell, and down removes it', async () => {
  expect(await command('up', '--no-fsync')).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/KUBECONFIG=[\s\S]* env --state '.*'\)"[\s\S]* down --state '/),
  });
  expect(await command('up')).toMatchObject({ code: 0, stdout: expect.stringContaining('up already') });

  const health = await command('status');
  expect(health.code).toBe(0);
  expect(health.stdout.match(/ healthy$/gm)).toHaveLength(5);

  const { stdout: lines } = await command('env');
  const shell = await promisify(execFile)('/bin/sh', ['-c', `${lines}\nkubectl get nodes --output=name`]);
  expect(shell.stdout.trim().split('\n')).toHaveLength(5);

  expect(await command('down')).toMatchObject({ code: 0, stdout: expect.stringContaining('stopped') });
  expect(existsSync(state)).toBe(false);
}, 300_000);
