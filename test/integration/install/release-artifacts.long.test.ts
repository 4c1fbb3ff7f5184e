/**
 * The files of a release, as a user gets them: built by `npm run release` on a base of two platforms in a registry, pushed to
 * that registry, and installed from it.
 */
import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { profiles, renderedFile } from '../../../scripts/manifests.ts';
import { type Index, type Manifest, readBlob } from '../../../scripts/release/oci-layout.ts';
import { type LocalCluster, startCluster } from '../../cluster/cluster.ts';
import { resolveHelm } from '../../cluster/helm.ts';
import { pushBaseImage } from '../../cluster/images/base-images.ts';
import { crane } from '../../cluster/images/crane.ts';
import { type LocalRegistry, startRegistry } from '../../cluster/images/registry.ts';
import { FIRST_TIME_MS } from '../../cluster/images/tools.ts';
import { kubectl } from '../../cluster/kubectl.ts';
import { root as checkout } from '../../docs/pages.ts';
import { helm } from '../../installation/helm.ts';
import { BERTH_NAMESPACE } from '../../installation/install.ts';
import { VERSION } from '../../installation/version.ts';
import { parsed, podsOf, type Rendered, set } from '../harness/chart.ts';
import { environment } from '../harness/environment.ts';
import { installedWorkloads } from '../harness/installed.ts';

const run = promisify(execFile);
/** As a publisher names it. Nothing is at this address. */
const REPOSITORY = 'ghcr.example/berth-dev/berth';
const SCRIPT = join(checkout, 'scripts/release.ts');
/** The pods do not run, so no value is used. */
const SECRET = ['DATABASE_URL', 'BERTH_ENCRYPTION_KEYS', 'BERTH_LISTENER_KEY'].map(
  (name) => `--from-literal=${name}=unused`,
);

/** Checksums of settings, which contain the image. */
const CHANGES = /(?<=checksum\/config: )\w+|(?<=berth-migrate-)[0-9a-f]{8}/g;

interface Config {
  architecture: string;
  config: { User: string; Entrypoint: string[]; Cmd: string[]; Labels: Record<string, string> };
}

let folder: string;
/** Not that of the other tests, which contains objects of Berth. */
let cluster: LocalCluster;
let registry: LocalRegistry;
let base: string;
/** What the first build prints. */
let printed: string;
/** `sha256:…` of the image, as the build prints it. */
let digest: string;

const built = (name: string) => join(folder, name);
const unpacked = (name: string) => join(folder, 'unpacked', name);

/** The base as its publisher provides it: one name for two platforms. */
async function pushBase(): Promise<string> {
  const images = [];
  for (const architecture of ['x64', 'arm64'] as const) {
    const repository = `base/node-git:${architecture}`;
    images.push((await pushBaseImage('node-git', registry.host, { architecture, repository })).ref);
  }
  const name = `${registry.host}/base/node-git:latest`;
  await crane(['index', 'append', ...images.flatMap((image) => ['--manifest', image]), '--tag', name]);
  return name;
}

/** Runs the script as `npm run release` does, with another umask, time zone and folder than this process. */
async function release(output: string, bases: string[], umask: string, zone: string): Promise<string> {
  const command = `umask ${umask}; exec "$0" "$@"`;
  const options = ['--repository', REPOSITORY, ...bases.flatMap((name) => ['--base', name])];
  const args = ['-c', command, process.execPath, SCRIPT, '--output', output, ...options];
  const { stdout } = await run('bash', args, { cwd: folder, env: { ...process.env, TZ: zone } });
  return stdout;
}

/** Builds the release again with the command that it contains, without its checkout, as a user does before it is published. */
async function rebuild(umask: string, zone: string): Promise<void> {
  const text = readFileSync(join(built('first'), 'REBUILD'), 'utf8');
  const [, variable = '', options = ''] =
    /^(SOURCE_DATE_EPOCH=\d+) npm run release -- --output \.\.\/again ([\s\S]+)$/m.exec(text) ?? [];
  const program = '"$BERTH_TEST_NODE" "$BERTH_TEST_SCRIPT"';
  const command = `umask ${umask}; ${variable} ${program} --output ${built('second')} ${options}`;
  const env = { ...process.env, TZ: zone, BERTH_TEST_NODE: process.execPath, BERTH_TEST_SCRIPT: SCRIPT };
  await run('bash', ['-euc', command], { cwd: folder, env });
}

/** Unpacks a file of the release. */
async function unpack(file: string, into: string): Promise<void> {
  mkdirSync(into, { recursive: true });
  await run('tar', ['--extract', '--file', join(built('first'), file), '--directory', into]);
}

beforeAll(async () => {
  folder = mkdtempSync(join(realpathSync(tmpdir()), 'berth-release-test-'));
  await resolveHelm();
  [registry, cluster] = await Promise.all([startRegistry(), startCluster({ log: () => undefined })]);
  base = await pushBase();
  printed = await release(built('first'), [base], '022', 'UTC');
  await rebuild('077', 'Asia/Tokyo');
  digest = new RegExp(`^image: ${REPOSITORY}@(sha256:[0-9a-f]{64})$`, 'm').exec(printed)?.[1] ?? '';
  await unpack(`berth-image-${VERSION}.oci.tar`, unpacked('image'));
  await unpack(`berth-manifests-${VERSION}.tar.gz`, unpacked('manifests'));
  await crane(['push', unpacked('image'), `${registry.host}/berth:${VERSION}`]);
}, FIRST_TIME_MS);
afterAll(async () => {
  await Promise.all([registry?.stop(), cluster?.stop()]);
  rmSync(folder, { recursive: true, force: true });
});

it('writes all files, whose checksums sha256sum accepts', async () => {
  expect(readdirSync(built('first')).sort()).toEqual([
    'REBUILD',
    'SHA256SUMS',
    `berth-chart-${VERSION}.tgz`,
    `berth-cli-${VERSION}.tgz`,
    `berth-image-${VERSION}.oci.tar`,
    `berth-manifests-${VERSION}.tar.gz`,
    'openapi.json',
  ]);
  const { stdout } = await run('sha256sum', ['--check', 'SHA256SUMS'], { cwd: built('first') });
  expect(stdout.match(/: OK$/gm)).toHaveLength(6);
});

it('writes the same bytes when the command of REBUILD is run with another umask and another time zone', () => {
  const sums = (name: string) => readFileSync(join(built(name), 'SHA256SUMS'), 'utf8');
  expect(sums('second')).toBe(sums('first'));
});

it('runs the image of this platform, and names the platform that it did not run', () => {
  const [own, other] = process.arch === 'x64' ? ['amd64', 'arm64'] : ['arm64', 'amd64'];
  expect(printed).toContain(`linux/${own}: built, and \`berth --version\` was run`);
  expect(printed).toContain(`linux/${other}: built, not run, because this machine is linux/${own}`);
});

it('prints the command that builds it again, and the programs that publish it', async () => {
  const digests = await Promise.all(
    ['linux/amd64', 'linux/arm64'].map((platform) => crane(['digest', base, '--platform', platform])),
  );
  for (const each of digests) expect(printed).toContain(` --base ${base}@${each}`);
  expect(printed).toMatch(/^to build it again: SOURCE_DATE_EPOCH=\d+ npm run release -- --output /m);
  for (const name of ['crane', 'helm']) {
    const [, path = ''] = new RegExp(`^${name}: (/.+)$`, 'm').exec(printed) ?? [];
    expect(existsSync(path), name).toBe(true);
  }
});

it('keeps its digest in a registry, where both platforms are valid images with user, entry point and labels', async () => {
  const image = `${registry.host}/berth:${VERSION}`;
  expect(await crane(['digest', image])).toBe(digest);
  for (const architecture of ['amd64', 'arm64']) {
    const platform = ['--platform', `linux/${architecture}`];
    await crane(['validate', '--fast', '--remote', image, ...platform]);
    const config = JSON.parse(await crane(['config', image, ...platform])) as Config;
    expect(config).toMatchObject({
      architecture,
      config: { User: '10001:10001', Entrypoint: ['node', '/app/src/main.js'], Cmd: ['all'] },
    });
    expect(config.config.Labels).toMatchObject({
      'org.opencontainers.image.version': VERSION,
      'org.opencontainers.image.revision': expect.stringMatching(/^[0-9a-f]{40}(-dirty)?$/),
      'dev.berth.sbom': '/app/sbom.cdx.json',
    });
  }
  const index = readBlob<Index>(unpacked('image'), digest);
  const [first] = index.manifests.map((entry) => readBlob<Manifest>(unpacked('image'), entry.digest));
  expect(first?.annotations).toMatchObject({
    'org.opencontainers.image.base.name': base,
    'org.opencontainers.image.base.digest': await crane(['digest', base, '--platform', 'linux/amd64']),
  });
});

it('contains the files of Berth for root only to change, and a bill of materials without the address of a registry', async () => {
  const { layers } = readBlob<Manifest>(
    unpacked('image'),
    readBlob<Index>(unpacked('image'), digest).manifests[0]?.digest ?? '',
  );
  const blob = join(unpacked('image'), 'blobs', (layers.at(-1)?.digest ?? '').replace(':', '/'));
  const { stdout: list } = await run('tar', ['--list', '--verbose', '--numeric-owner', '--file', blob]);
  const lines = list.trimEnd().split('\n');
  expect(lines.filter((line) => !/^(drwxr-xr-x|-rw-r--r--|-rwxr-xr-x) 0\/0 /.test(line))).toEqual([]);
  const paths = lines.map((line) => line.split(' ').at(-1));
  expect(paths).toEqual(expect.arrayContaining(['app/LICENSE', 'app/package.json', 'app/src/main.js']));
  expect(paths.filter((path) => path?.endsWith('.ts'))).toEqual([]);
  const { stdout } = await run('tar', ['--extract', '--to-stdout', '--file', blob, 'app/sbom.cdx.json']);
  const sbom = JSON.parse(stdout) as { bomFormat: string; components: { name: string }[] };
  expect(sbom.bomFormat).toBe('CycloneDX');
  const names = sbom.components.map(({ name }) => name);
  expect(names).toEqual(expect.arrayContaining(['fastify', 'pg', 'zod']));
  expect(names).not.toContain('vitest');
  expect(stdout).not.toContain('"distribution"');
});

it('installs the chart from a registry, with the image of the release by digest', async () => {
  const oci = `oci://${registry.host}/charts`;
  const file = join(built('first'), `berth-chart-${VERSION}.tgz`);
  await helm(environment(), ['push', file, oci, '--plain-http']);
  const prepare = [
    ['create', 'namespace', BERTH_NAMESPACE],
    ['label', 'namespace', BERTH_NAMESPACE, 'pod-security.kubernetes.io/enforce=restricted'],
    ['-n', BERTH_NAMESPACE, 'create', 'secret', 'generic', 'berth', ...SECRET],
  ];
  for (const args of prepare) await kubectl(cluster, args);
  const chart = [`${oci}/berth`, '--version', VERSION, '--plain-http', '-n', BERTH_NAMESPACE];
  const values = set([`image.repository=${registry.host}/berth`]);
  await helm(cluster, ['install', 'berth', ...chart, ...values, '--wait', '--timeout', '120s']);
  const found = await Promise.all(
    (['deployments', 'jobs'] as const).map((kind) => installedWorkloads(cluster, kind)),
  );
  const workloads = found.flat() as unknown as Rendered[];
  const images = podsOf(workloads).flatMap(({ spec }) => spec.containers.map(({ image }) => image));
  expect(images.length).toBeGreaterThan(2);
  expect(new Set(images)).toEqual(new Set([`${registry.host}/berth@${digest}`]));
  await crane(['manifest', images[0] ?? '']);
}, 240_000);

it('names the image by digest, unless the user sets a tag or another digest', async () => {
  const file = join(built('first'), `berth-chart-${VERSION}.tgz`);
  const imagesWith = async (...values: string[]) => {
    const objects = parsed(await helm(environment(), ['template', 'berth', file, ...set(values)]));
    return new Set(
      objects.flatMap(({ spec }) => spec?.template?.spec.containers.map(({ image }) => image) ?? []),
    );
  };
  const other = `sha256:${'1'.repeat(64)}`;
  const own = `${REPOSITORY}@${digest}`;
  expect(await imagesWith()).toEqual(new Set([own]));
  expect(await imagesWith('image.tag=v2')).toEqual(new Set([`${REPOSITORY}:v2`]));
  expect(await imagesWith(`image.digest=${other}`)).toEqual(new Set([`${REPOSITORY}@${other}`]));
  expect(await imagesWith('api.image.tag=v2')).toEqual(new Set([`${REPOSITORY}:v2`, own]));
  await expect(helm(environment(), ['lint', '--strict', file])).resolves.toContain('0 chart(s) failed');
});

it('renders each profile as in the checkout, with the image by digest', () => {
  const top = join(unpacked('manifests'), `berth-manifests-${VERSION}`);
  // Without the comments at the top.
  const objects = (text: string) => text.slice(text.indexOf('---')).replace(CHANGES, '');
  for (const profile of profiles()) {
    const text = readFileSync(join(top, profile, 'berth.yaml'), 'utf8');
    expect(text).toContain(`${REPOSITORY}@${digest}`);
    const ofCheckout = readFileSync(renderedFile(profile), 'utf8');
    const tagged = objects(text).replaceAll(`${REPOSITORY}@${digest}`, `berth:${VERSION}`);
    expect(tagged === objects(ofCheckout), profile).toBe(true);
  }
  expect(readdirSync(top)).toEqual(expect.arrayContaining(['argocd', 'crds', 'monitoring', 'openapi.json']));
});
