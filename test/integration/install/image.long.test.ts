/**
 * Berth's own image, built from the Dockerfile by a real BuildKit on a base that is named by digest, and run by runc as a
 * pod of the chart is: as its user, without capabilities, on a root file system that is only read.
 */
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
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
import { FIRST_TIME_MS } from '../../cluster/images/tools.ts';
import { type OrdinaryDatabase, ordinaryDatabase } from '../../cluster/ordinary-database.ts';
import { freePorts } from '../../cluster/ports.ts';
import { waitFor } from '../../cluster/wait.ts';
import { shellBlocks, textOf } from '../../docs/pages.ts';
import { pushBerthImage } from '../../installation/berth-image.ts';
import { VERSION } from '../../installation/version.ts';
import { environment, postgres } from '../harness/environment.ts';
import { operatorWorld, startOperator } from '../harness/operator.ts';
import { App, adminClient } from '../harness/rollouts.ts';
import { type ImageConfig, output, startContainer } from './image-container.ts';

const run = promisify(execFile);
/** MiB that Berth adds to its base, unpacked. */
const MOST_MIB = 100;

let folder: string;
let registry: LocalRegistry;
let buildkit: LocalBuildkit;
let image: string;
let config: ImageConfig;

beforeAll(async () => {
  folder = mkdtempSync(join(realpathSync(tmpdir()), 'berth-image-'));
  registry = await startRegistry();
  buildkit = await startBuildkit({ registries: [{ host: registry.host, http: true }] });
  await pushBerthImage(buildkit, registry.host);
  image = `${registry.host}/berth:${VERSION}`;
  ({ config } = JSON.parse(await crane(['config', image])) as { config: ImageConfig });
  mkdirSync(join(folder, 'rootfs'));
  await crane(['export', image, join(folder, 'rootfs.tar')]);
  await run('tar', ['-x', '-C', join(folder, 'rootfs'), '-f', join(folder, 'rootfs.tar')]);
}, FIRST_TIME_MS);
afterAll(async () => {
  await Promise.all([buildkit?.stop(), registry?.stop()]);
  rmSync(folder, { recursive: true, force: true });
});

/** A container of the image. */
const container = (
  args: readonly string[],
  settings: Record<string, string>,
  folders: Record<string, string> = {},
  workdir = '/',
) => startContainer({ bundles: folder, config, args, settings, folders, workdir });

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
  const keys = ['keys', 'create', '--tenant', 'shop', '--name', 'ci', '-o', 'json'];
  const created = await output(await container(keys, settings));
  expect(JSON.parse(created.text)).toMatchObject({ api_key: expect.any(String) });
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

it('the image exports a deployment and previews an upgrade, in a folder with the kubeconfig of install.md', async () => {
  const world = await operatorWorld('image');
  const operator = await startOperator(world.settings);
  const client = await adminClient();
  const work = join(folder, 'work');
  mkdirSync(work);
  try {
    const shop = new App(client, world.namespace, 'shop');
    await shop.apply({ revision: { number: 1, image: 'registry.test/shop:1' } });
    await shop.ready();
    const page = 'docs/install.md';
    const [, section = ''] = textOf(page).split('\n### A kubeconfig for commands in the image\n');
    const [commands] = shellBlocks(section, page);
    const { kubectlPath, kubeconfigPath } = environment();
    const script = `kubectl() { "$KUBECTL" "$@"; }\n${commands?.text}`;
    const env = { PATH: process.env['PATH'], KUBECTL: kubectlPath, KUBECONFIG: kubeconfigPath };
    await run('bash', ['-euc', script], { cwd: work, env });
    const users = readFileSync(join(work, 'berth.kubeconfig'), 'utf8').match(/^- name: .*$/gm);
    expect(users?.at(-1)).toBe('- name: operator');

    const settings = { BERTH_KUBECONFIG: 'berth.kubeconfig', BERTH_NAMESPACES: world.namespace };
    const berth = async (...args: string[]) =>
      output(await container(args, settings, { '/work': work }, '/work'));
    const exported = await berth('export', 'shop', '-o', 'shop');
    expect(exported.code, exported.text).toBe(0);
    expect(readdirSync(join(work, 'shop'))).toEqual(
      expect.arrayContaining(['README.md', 'kustomization.yaml']),
    );
    writeFileSync(join(work, 'values.yaml'), 'policy: ""\n');
    const preview = await berth('upgrade-preview', '--values', 'values.yaml');
    expect(preview.text).toMatch(/[01] of 1 deployments would change at their next revision/);
    expect([0, 2]).toContain(preview.code);
  } finally {
    await operator.stop();
    await client.close();
    await world.end();
  }
});
