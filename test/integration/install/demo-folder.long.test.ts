/** The demo builds a folder for real, by the command that it prints. Nothing here needs containers. */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseEnv } from 'node:util';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { FIRST_TIME_MS } from '../../cluster/images/tools.ts';
import { waitFor } from '../../cluster/wait.ts';
import { runProgram } from '../cli/cli.ts';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const script = join(root, 'scripts/demo.ts');
const { databaseUrl } = inject('environment');

let folder: string;
let demo: ChildProcess;
let output = '';
let ended: Promise<number | null>;

/** Starts the demo without samples, and waits until it prints what to try. */
beforeAll(async () => {
  folder = mkdtempSync(join(realpathSync(tmpdir()), 'berth-demo-folder-'));
  demo = spawn(process.execPath, [script, '--local', '--builds', '--samples', 'none', '--port', '0'], {
    cwd: folder,
    env: { ...process.env, DATABASE_URL: databaseUrl },
  });
  ended = new Promise((resolve) => demo.once('close', resolve));
  for (const stream of [demo.stdout, demo.stderr])
    stream?.setEncoding('utf8').on('data', (chunk: string) => {
      output += chunk;
    });
  await waitFor('the demo to print what to try', async () => output.includes('Ctrl-C stops everything'), {
    timeoutMs: FIRST_TIME_MS - 10_000,
    giveUpIf: () => {
      if (demo.exitCode !== null) throw new Error(`the demo ended with ${demo.exitCode}: ${output}`);
    },
  });
}, FIRST_TIME_MS);
afterAll(async () => {
  demo?.kill('SIGINT');
  await ended;
  rmSync(folder, { recursive: true, force: true });
}, 60_000);

/** Runs a command with the variables of the demo. */
async function berth(...words: string[]) {
  const variables = parseEnv(readFileSync(join(folder, '.berth/demo.env'), 'utf8')) as Record<string, string>;
  return await runProgram(words, { env: { ...variables, HOME: folder } });
}

/** Runs the command that the demo prints. The paths of the demo are those of the checkout. */
async function deploy(...more: string[]) {
  const [, name = '', path = ''] = /^ {2}berth deploy (\S+) (\S+) +#/m.exec(output) ?? [];
  return await berth('deploy', name, join(root, path), ...more);
}

test('berth deploy builds the sample folder, and the same folder again builds nothing', async () => {
  const first = await deploy('-o', 'json');
  expect(first, `${first.out}${first.err}`).toMatchObject({ code: 0 });
  expect(first.err).toContain('created the deployment my-folder\n');
  expect(first.err).toMatch(/^source \| [\s\S]*^image \| [\s\S]*^result \| built sha256:/m);
  expect(first.err).toContain('my-folder is READY with its latest revision active');
  expect(JSON.parse(first.out)).toMatchObject({
    name: 'my-folder',
    source: 'internal_image',
    status: 'READY',
  });
  const again = await deploy('-o', 'name');
  expect(again).toMatchObject({ code: 0, out: 'my-folder\n' });
  expect(again.err).toContain('revision 1 has the same files and settings, so no other one was created');
  expect(again.err).not.toContain('image |');
}, 300_000);

test('a build that fails ends the command with 1, and a rollback does not need the folder', async () => {
  const failed = await deploy('--install-command', 'echo the-reason-is-this; exit 7');
  expect(failed, failed.err).toMatchObject({ code: 1 });
  expect(failed.err).toContain('the-reason-is-this');
  expect(failed.err).toContain('revision 2: BUILD_FAILED');
  const back = await berth('revisions', 'rollback', 'my-folder', '1', '--wait');
  expect(back, back.err).toMatchObject({ code: 0 });
  expect(back.out).toMatch(/^Upload: +sha256:[0-9a-f]{64}$/m);
}, 300_000);
