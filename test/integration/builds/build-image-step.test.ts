/**
 * The step `image` of a build with a real BuildKit: what a RUN instruction of one deployment can access, and that it
 * cannot access anything of another.
 */
import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { imageFailureReason } from '../../../src/cluster/operator/builds/image-failure.ts';
import { type BuildSpec, buildSpecSchema } from '../../../src/contract/resource/build.ts';
import type { ManagedDeployment } from '../../../src/contract/resource/managed-deployment.ts';
import { buildJob } from '../../../src/workloads/objects/build-job.ts';
import { pushBaseImage } from '../../cluster/images/base-images.ts';
import { type LocalBuildkit, startBuildkit } from '../../cluster/images/buildkit.ts';
import { type LocalRegistry, startRegistry } from '../../cluster/images/registry.ts';
import { FIRST_TIME_MS } from '../../cluster/images/tools.ts';
import { buildConfig } from '../harness/build-namespace.ts';

const CANARY = 'canary-of-the-credentials-for-base-images';
let folder: string;
let credentials: string;
let registry: LocalRegistry;
let buildkit: LocalBuildkit;
let base: string;

beforeAll(async () => {
  folder = mkdtempSync(join(realpathSync(tmpdir()), 'berth-test-image-step-'));
  credentials = join(folder, 'credentials');
  mkdirSync(credentials);
  const auth = Buffer.from(`platform:${CANARY}`).toString('base64');
  const config = { auths: { 'bases.example': { username: 'platform', password: CANARY, auth } } };
  writeFileSync(join(credentials, 'config.json'), JSON.stringify(config));
  registry = await startRegistry();
  buildkit = await startBuildkit({ registries: [{ host: registry.host, http: true }] });
  base = (await pushBaseImage('node', registry.host)).ref;
}, FIRST_TIME_MS);
afterAll(async () => {
  await Promise.all([buildkit?.stop(), registry?.stop()]);
  if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
});

interface Step {
  readonly command: readonly string[];
  readonly args: readonly string[];
}

/** The second step of the Job of a deployment's build, as the Job has it. */
function imageStep(deployment: string): Step {
  const build: BuildSpec = buildSpecSchema.parse({
    revisionId: 'r1',
    number: 1,
    repoUrl: 'https://git.example/shop/web',
    configPath: 'app.json',
    repository: `${registry.host}/tenant/${deployment}`,
    secretName: 'build-r1',
  });
  const resource = {
    metadata: { namespace: 'team', name: deployment },
    spec: { deploymentId: deployment, tenantId: 'tenant', revision: { number: 1 }, build },
  } as unknown as ManagedDeployment;
  const config = buildConfig('builds', {
    buildkitHost: buildkit.address,
    insecureRegistry: true,
    cache: true,
  });
  const { template } = buildJob(resource, build, config, 1).spec as {
    template: { spec: { initContainers: (Step & { name: string })[] } };
  };
  const step = template.spec.initContainers.find(({ name }) => name === 'image');
  if (step === undefined) throw new Error('the Job has no step image');
  return step;
}

/** The number of attempts that the operator makes for a transient failure. */
const ATTEMPTS = 3;

/**
 * Runs the step on a Dockerfile as the operator does, with retries.
 * @returns its output
 */
async function build(deployment: string, ...instructions: string[]): Promise<string> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await buildOnce(deployment, ...instructions);
    } catch (error) {
      const passes = imageFailureReason(String(error)) === 'RegistryUnavailable';
      if (!passes || attempt === ATTEMPTS) throw error;
    }
  }
}

function buildOnce(deployment: string, ...instructions: string[]): Promise<string> {
  const workspace = join(folder, deployment);
  mkdirSync(join(workspace, 'context'), { recursive: true });
  mkdirSync(join(workspace, 'dockerfile'), { recursive: true });
  writeFileSync(join(workspace, 'dockerfile/Dockerfile'), [`FROM ${base}`, ...instructions, ''].join('\n'));
  const args = imageStep(deployment).args.map((text) => text.replaceAll('/workspace', workspace));
  const env = { ...process.env, DOCKER_CONFIG: credentials };
  return new Promise((resolve, reject) =>
    execFile(
      buildkit.buildctlPath,
      ['--addr', buildkit.address, ...args],
      { env },
      (error, stdout, stderr) =>
        error === null ? resolve(stdout + stderr) : reject(new Error(stdout + stderr)),
    ),
  );
}

const CACHED = 'RUN --mount=type=cache,target=/var/cache/shop';

test('keeps a cache mount for the next build of the same deployment only', async () => {
  await build('one', `${CACHED} echo left by one > /var/cache/shop/file`);
  expect(await build('two', `${CACHED} echo "two: $(cat /var/cache/shop/file || echo nothing)"`)).toContain(
    'two: nothing',
  );
  expect(await build('one', `${CACHED} echo "one: $(cat /var/cache/shop/file)"`)).toContain(
    'one: left by one',
  );
}, 120_000);

test('hides the credentials of BuildKit from a RUN step, in files, variables and processes', async () => {
  const encoded = Buffer.from(`platform:${CANARY}`).toString('base64');
  // The brackets keep the command from finding itself.
  const words = [CANARY, encoded].map((word) => `-e '[${word[0]}]${word.slice(1)}'`).join(' ');
  const printed = await build(
    'curious',
    `RUN (grep -rlIs ${words} / --exclude-dir=sys --exclude-dir=proc; cat /proc/*/environ /proc/*/cmdline /proc/*/root${join(credentials, 'config.json')} 2>/dev/null | grep -ac ${words}; test ! -e ${credentials}) > /found; echo "ended: $?; found: $(cat /found | tr '\\n' ' ')"`,
  );
  expect(printed).toContain('ended: 0; found: 0 ');
}, 120_000);
