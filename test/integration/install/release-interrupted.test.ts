/** `npm run release` that fails or is interrupted: the folder of the user stays as it is, and the next attempt can use it. */
import { execFile, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeAll, beforeEach, expect, it, onTestFinished } from 'vitest';
import { resolveHelm } from '../../cluster/helm.ts';
import { FIRST_TIME_MS, resolveImageTools } from '../../cluster/images/tools.ts';
import { root as checkout } from '../../docs/pages.ts';

const SCRIPT = join(checkout, 'scripts/release.ts');

let folder: string;
let env: NodeJS.ProcessEnv;
beforeAll(async () => {
  await resolveImageTools(['crane']);
  await resolveHelm();
}, FIRST_TIME_MS);
beforeEach(() => {
  folder = mkdtempSync(join(realpathSync(tmpdir()), 'berth-release-test-'));
  mkdirSync(join(folder, 'tmp'));
  mkdirSync(join(folder, 'release'));
  env = { ...process.env, TMPDIR: join(folder, 'tmp') };
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** No file is left, and the folder that the user has created is. */
const nothingIsLeft = () => {
  expect(readdirSync(folder).sort()).toEqual(['release', 'tmp']);
  expect(readdirSync(join(folder, 'release'))).toEqual([]);
  expect(readdirSync(join(folder, 'tmp')).filter((name) => name.startsWith('berth-'))).toEqual([]);
};

/** A registry that accepts requests and does not respond. */
async function silentRegistry(): Promise<string> {
  const server = createServer(() => undefined);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

it('fails with the next step when the registry of the base does not respond, and keeps the empty folder', async () => {
  const args = [SCRIPT, '--output', join(folder, 'release'), '--base', '127.0.0.1:1/node:24'];
  await expect(promisify(execFile)(process.execPath, args, { env })).rejects.toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/base image 127\.0\.0\.1:1\/node:24: [\s\S]*; next: check the name/),
  });
  nothingIsLeft();
});

it.each([
  ['SIGINT', 130],
  ['SIGTERM', 143],
] as const)(
  'removes its files and the programs that it has started at %s, and exits with %i',
  async (signal, code) => {
    const base = `${await silentRegistry()}/node:24`;
    const child = spawn(process.execPath, [SCRIPT, '--output', join(folder, 'release'), '--base', base], {
      env,
    });
    let log = '';
    child.stderr.on('data', (chunk) => (log += String(chunk)));
    const ended = new Promise((resolve) => child.once('exit', (...result) => resolve(result)));
    // The streams of a program that goes on would stay open.
    const closed = new Promise((resolve) => child.once('close', resolve));
    await expect.poll(() => log, { timeout: 60_000 }).toContain('reading the base image');
    expect(readdirSync(folder).filter((name) => name.startsWith('.release-'))).toHaveLength(1);
    child.kill(signal);
    expect(await ended).toEqual([code, null]);
    await closed;
    nothingIsLeft();
  },
);
