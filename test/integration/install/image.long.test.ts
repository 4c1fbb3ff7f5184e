/**
 * Berth's own image, built from the Dockerfile by a real BuildKit on a base that is named by digest, and run by runc as a
 * pod of the chart is: as its user, without capabilities, on a root file system that is only read.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type LocalBuildkit, startBuildkit } from '../../cluster/images/buildkit.ts';
import { crane } from '../../cluster/images/crane.ts';
import { startGitOverHttps } from '../../cluster/images/git-over-https.ts';
import { type LocalRegistry, startRegistry } from '../../cluster/images/registry.ts';
import { FIRST_TIME_MS, resolveRunc } from '../../cluster/images/tools.ts';
import { type OrdinaryDatabase, ordinaryDatabase } from '../../cluster/ordinary-database.ts';
import { freePorts } from '../../cluster/ports.ts';
import { waitFor } from '../../cluster/wait.ts';
import { pushBerthImage } from '../../installation/berth-image.ts';
import { VERSION } from '../../installation/version.ts';
import { postgres, uniqueName } from '../harness/environment.ts';

const run = promisify(execFile);
/** MiB that Berth adds to its base, unpacked. */
const MOST_MIB = 100;

interface ImageConfig {
  config: {
    User: string;
    Env: string[];
    Entrypoint: string[];
    Cmd: string[];
    Labels: Record<string, string>;
    Healthcheck: { Test: string[] };
  };
}

interface RuncSpec {
  process: object;
  root: object;
  mounts: object[];
  linux: { namespaces: { type: string }[] };
}

let folder: string;
let registry: LocalRegistry;
let buildkit: LocalBuildkit;
let image: string;
let config: ImageConfig['config'];

beforeAll(async () => {
  folder = mkdtempSync(join(realpathSync(tmpdir()), 'berth-image-'));
  registry = await startRegistry();
  buildkit = await startBuildkit({ registries: [{ host: registry.host, http: true }] });
  await pushBerthImage(buildkit, registry.host);
  image = `${registry.host}/berth:${VERSION}`;
  ({ config } = JSON.parse(await crane(['config', image])) as ImageConfig);
  mkdirSync(join(folder, 'rootfs'));
  await crane(['export', image, join(folder, 'rootfs.tar')]);
  await run('tar', ['-x', '-C', join(folder, 'rootfs'), '-f', join(folder, 'rootfs.tar')]);
}, FIRST_TIME_MS);
afterAll(async () => {
  await Promise.all([buildkit?.stop(), registry?.stop()]);
  rmSync(folder, { recursive: true, force: true });
});

/** A container of the image, with the network of this machine, and folders of it by their path in the container. */
async function container(
  args: readonly string[],
  settings: Record<string, string>,
  folders: Record<string, string> = {},
): Promise<ChildProcess> {
  const runc = await resolveRunc();
  const bundle = join(folder, uniqueName('bundle'));
  mkdirSync(bundle);
  await run(runc, ['spec', '--bundle', bundle]);
  const path = join(bundle, 'config.json');
  const spec = JSON.parse(readFileSync(path, 'utf8')) as RuncSpec;
  const [uid = 0, gid = 0] = config.User.split(':').map(Number);
  const capabilities = { bounding: [], effective: [], permitted: [], inheritable: [], ambient: [] };
  Object.assign(spec.process, {
    terminal: false,
    user: { uid, gid },
    args: [...config.Entrypoint, ...args],
    env: [...config.Env, ...Object.entries(settings).map(([name, value]) => `${name}=${value}`)],
    cwd: '/',
    capabilities,
    noNewPrivileges: true,
  });
  spec.root = { path: join(folder, 'rootfs'), readonly: true };
  spec.mounts.push({ destination: '/tmp', type: 'tmpfs', source: 'tmpfs', options: ['nosuid', 'nodev'] });
  for (const [destination, source] of Object.entries(folders))
    spec.mounts.push({ destination, type: 'bind', source, options: ['bind', 'rw', 'nosuid', 'nodev'] });
  spec.linux.namespaces = spec.linux.namespaces.filter(({ type }) => type !== 'network');
  writeFileSync(path, JSON.stringify(spec));
  const state = join(folder, 'runc');
  return spawn(runc, ['--root', state, 'run', '--bundle', bundle, uniqueName('berth')], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}

/** What it prints, and how it ends. */
async function output(child: ChildProcess): Promise<{ code: number | null; text: string }> {
  let text = '';
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk) => (text += String(chunk)));
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
  return { code, text };
}

it('the image is small, runs as an unprivileged user, and names the file of its SBOM in a label', async () => {
  expect(config.User).toMatch(/^[1-9]\d*:[1-9]\d*$/);
  expect(config.Entrypoint).toEqual(['node', '/app/src/main.js']);
  const sbom = JSON.parse(
    readFileSync(join(folder, 'rootfs', config.Labels['dev.berth.sbom'] ?? ''), 'utf8'),
  );
  expect(sbom.bomFormat).toBe('CycloneDX');
  const names = (sbom.components as { name: string }[]).map(({ name }) => name);
  expect(names).toEqual(expect.arrayContaining(['fastify', 'pg', 'zod']));
  expect(names).not.toContain('vitest');
  const { stdout } = await run('du', ['-sm', join(folder, 'rootfs/app')]);
  expect(Number.parseInt(stdout, 10)).toBeLessThan(MOST_MIB);
  // What takes types out of sources would take 25 MiB of each process.
  expect(globSync('app/src/**/*.ts', { cwd: join(folder, 'rootfs') })).toEqual([]);
  // Nothing that it runs could be changed by it.
  const writable = await run('find', [
    join(folder, 'rootfs/app'),
    '!',
    '-user',
    'root',
    '-o',
    '-perm',
    '-o+w',
    '!',
    '-type',
    'l',
  ]);
  expect(writable.stdout).toBe('');
});

it('the image runs version, migrate and api with a read-only root file system, and stops on SIGTERM', async () => {
  expect(await output(await container(['version'], {}))).toEqual({ code: 0, text: `${VERSION}\n` });
  const database: OrdinaryDatabase = await ordinaryDatabase(await postgres());
  const [port = 0, metrics = 0] = await freePorts(2);
  const settings = {
    DATABASE_URL: database.url,
    BERTH_ENCRYPTION_KEYS: `k1:${randomBytes(32).toString('base64')}`,
    BERTH_HOST: '127.0.0.1',
    BERTH_PORT: String(port),
    BERTH_METRICS_PORT: String(metrics),
  };
  const migrated = await output(await container(['migrate'], settings));
  expect(migrated.text).toContain('the database is migrated');
  expect(migrated.code).toBe(0);
  const api = await container(['api'], settings);
  const ended = output(api);
  try {
    await waitFor('the API to be ready', async () => (await fetch(`http://127.0.0.1:${port}/readyz`)).ok, {
      timeoutMs: 30_000,
      giveUpIf: () => expect(api.exitCode).toBeNull(),
    });
    // What the image's health check runs, where it looks.
    const [, command = '', ...args] = config.Healthcheck.Test;
    const env = { ...process.env, BERTH_METRICS_PORT: String(metrics) };
    await run(command === 'node' ? process.execPath : command, args, { env });
    const closed = { ...process.env, BERTH_METRICS_PORT: '1' };
    await expect(run(process.execPath, args, { env: closed })).rejects.toMatchObject({ code: 1 });
  } finally {
    api.kill('SIGTERM');
  }
  const { code, text } = await ended;
  expect(text).toContain('"msg":"stopped"');
  expect(code).toBe(0);
  await database.drop();
});

it('the image clones over HTTPS in the build step `source`, and trusts an additional CA only when it is set', async () => {
  const token = 'a-token-of-the-git-host';
  const host = await startGitOverHttps({ token });
  try {
    const files = { 'berth.yaml': 'anything at all', Dockerfile: 'FROM scratch\n', 'page.html': 'hello' };
    const commit = await host.commitFiles('team/app', files);
    const folders = { '/workspace': join(folder, 'workspace'), '/git': join(folder, 'git') };
    for (const source of Object.values(folders)) mkdirSync(source);
    chmodSync(folders['/workspace'], 0o777);
    const given = { 'git-username': 'git', 'git-token': token, 'ca.crt': host.ca };
    for (const [name, content] of Object.entries(given)) writeFileSync(join(folders['/git'], name), content);
    const step = [
      ...['build-step', 'source', `--repo-url=${host.url}/team/app.git`, '--config=berth.yaml'],
      ...['--workspace=/workspace', '--credentials=/git', '--termination-log=/workspace/last-word'],
    ];
    const settings = { HOME: '/tmp', BERTH_GIT_ALLOW_PRIVATE: 'true' };
    const ca = { BERTH_BUILD_CA: '/git/ca.crt' };
    const cloned = await output(await container(step, { ...settings, ...ca }, folders));
    expect(cloned).toMatchObject({ code: 0 });
    expect(cloned.text).not.toContain(token);
    expect(readFileSync(join(folders['/workspace'], 'commit'), 'utf8')).toBe(`${commit}\n`);
    expect(readFileSync(join(folders['/workspace'], 'context/page.html'), 'utf8')).toBe('hello');
    const refused = await output(await container(step, settings, folders));
    expect(refused.code).toBe(1);
    expect(readFileSync(join(folders['/workspace'], 'last-word'), 'utf8')).toContain('GitHostUnavailable');
  } finally {
    await host.stop();
  }
});
