/**
 * Builds of git_host revisions with real components: a POST, a clone from a git host that requires a token, an image
 * that BuildKit builds and pushes to a registry that authenticates at the hub, and a revision that runs it by digest.
 * The steps run on a simulated node.
 */

import { createHash } from 'node:crypto';
import {
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
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { gzipped } from '../../archives.ts';
import { crane } from '../../cluster/images/crane.ts';
import { FIRST_TIME_MS } from '../../cluster/images/tools.ts';
import { waitFor } from '../../cluster/wait.ts';
import { type BuildNode, settingsForBuildNode, startBuildNode } from '../../installation/build-node.ts';
import { type BuildParts, startBuildParts } from '../../installation/build-parts.ts';
import { type DeploymentAnswer, startWholeBerth, type WholeBerth } from '../harness/berth.ts';
import { deleteNamespace, environment, kubectlAsAdmin, uniqueName } from '../harness/environment.ts';

const TOKEN = 'canary-0a1b2c3d4e5f-of-the-git-host';
const node = uniqueName('e2e-build-node');
let parts: BuildParts;
let berth: WholeBerth;
let buildNode: BuildNode;
let integration: string;
let folder: string | undefined;

beforeAll(async () => {
  const stateDir = mkdtempSync(join(realpathSync(tmpdir()), 'berth-test-e2e-'));
  folder = stateDir;
  parts = await startBuildParts({ stateDir, port: 0, token: TOKEN });
  berth = await startWholeBerth('e2e', {
    hosting: 'cloud',
    settings: { ...parts.settings, ...settingsForBuildNode(node, parts.buildkit) },
  });
  buildNode = await startBuildNode(environment(), {
    stateDir,
    node,
    buildkit: parts.buildkit,
    ca: parts.git.ca,
  });
  const made = await berth.call<{ id: string }>('POST', '/v2/integrations', {
    name: 'git',
    provider: 'gitlab',
    host_url: parts.git.url,
    token: TOKEN,
  });
  expect(made.status).toBe(201);
  integration = made.body.id;
  await parts.git.commitFiles('shop/node', parts.sample('node'));
  await parts.git.commitFiles('shop/python', parts.sample('python'));
}, FIRST_TIME_MS);
afterAll(async () => {
  await buildNode?.stop();
  await berth?.stop();
  await parts?.stop();
  if (berth !== undefined) await deleteNamespace(`berth-${berth.tenantId}`);
  await kubectlAsAdmin(['delete', 'node', node, '--ignore-not-found', '--wait=false']);
  if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
});

interface Revision {
  id: string;
  number: number;
  status: string;
  resolved_image: string | null;
  build: { phase: string; step?: string } | null;
  reason: string | null;
  message: string | null;
  source_revision_config: { repo_commit_sha: string | null };
}
const revisionsOf = async (id: string) =>
  (await berth.call<{ resources: Revision[] }>('GET', `/v2/deployments/${id}/revisions`)).body.resources;

const fromGit = (name: string, repository: string, config: object = {}, source: object = {}) => ({
  name,
  source: 'git_host',
  source_config: {
    repo_url: `${parts.git.url}/${repository}.git`,
    integration_id: integration,
    ...source,
  },
  source_revision_config: { workflow_config_path: 'berth.yaml', ...config },
  secrets: [],
});

/** Waits for a state of a revision; returns it, and the states that were seen on the way. */
async function untilRevision(
  { id }: Pick<DeploymentAnswer, 'id'>,
  status: string,
  number = 1,
): Promise<{ revision: Revision; seen: Set<string> }> {
  const seen = new Set<string>();
  let last: Revision | undefined;
  const revision = await waitFor(
    `revision ${number} of ${id} to be ${status}`,
    async () => {
      last = (await revisionsOf(id)).find((candidate) => candidate.number === number);
      if (last !== undefined) seen.add(last.status);
      return last?.status === status ? last : undefined;
    },
    {
      timeoutMs: 100_000,
      intervalMs: 100,
      giveUpIf: () => {
        if (last?.status.endsWith('FAILED')) throw new Error(JSON.stringify(last));
      },
    },
  );
  return { revision, seen };
}

/** Arguments and environment of all processes of this machine. */
function processTexts(): string[] {
  return readdirSync('/proc')
    .filter((pid) => /^\d+$/.test(pid) && pid !== String(process.pid))
    .flatMap((pid) =>
      ['cmdline', 'environ'].map((file) => {
        try {
          return `${pid} ${readFileSync(`/proc/${pid}/${file}`, 'latin1')}`;
        } catch {
          return '';
        }
      }),
    )
    .filter((text) => text.includes('build-step') || text.includes('git') || text.includes('buildctl'));
}

/** The entries of a folder; empty when it does not exist or was removed: pods end during the test. */
function entries(...path: readonly string[]): string[] {
  const at = join(...path);
  try {
    return readdirSync(at).map((name) => join(at, name));
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) return [];
    throw error;
  }
}

/** The output of all build steps so far. */
function stepLogs(): string {
  return entries(folder ?? '', `${node}-pods`)
    .flatMap((pod) => entries(pod, 'logs'))
    .map((path) => {
      try {
        return readFileSync(path, 'utf8');
      } catch {
        return '';
      }
    })
    .join('');
}

interface Watched<T> {
  readonly result: T;
  /** How many running `git fetch` processes were observed. */
  readonly gits: number;
  /** Processes that had the token among their arguments or variables. */
  readonly found: readonly string[];
  /** The longest observed logs of the steps. */
  readonly logs: string;
}

/** Observes processes and logs while the work runs. */
async function watchProcesses<T>(work: Promise<T>): Promise<Watched<T>> {
  const basic = Buffer.from(`oauth2:${TOKEN}`).toString('base64');
  const found: string[] = [];
  let [gits, logs, done] = [0, '', false];
  const result = work.finally(() => {
    done = true;
  });
  result.catch(() => undefined);
  while (!done) {
    for (const text of processTexts()) {
      if (text.includes('git\0') && text.includes('fetch')) gits += 1;
      if (text.includes(TOKEN) || text.includes(basic)) found.push(text.slice(0, 200));
    }
    const now = stepLogs();
    if (now.length > logs.length) logs = now;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  return { result: await result, gits, found, logs };
}

/**
 * The whole content of an image as text: manifest, configuration and the files of its layers, read as the cluster
 * reads it.
 */
async function contentOf(image: string): Promise<string> {
  const app = image.slice(image.lastIndexOf('/') + 1, image.indexOf('@'));
  const encoded = await kubectlAsAdmin([
    'get',
    'secret',
    `${app}-pull`,
    `--namespace=berth-${berth.tenantId}`,
    '-o',
    'jsonpath={.data.\\.dockerconfigjson}',
  ]);
  const options = { dockerConfig: join(folder ?? '', 'docker') };
  mkdirSync(options.dockerConfig, { recursive: true });
  writeFileSync(join(options.dockerConfig, 'config.json'), Buffer.from(encoded, 'base64'));
  const manifest = await crane(['manifest', image], options);
  const config = await crane(['config', image], options);
  // Too large for the buffer of a pipe.
  const layers = join(folder ?? '', 'layers.tar');
  await crane(['export', image, layers], options);
  return `${manifest}${config}${readFileSync(layers, 'latin1')}`;
}

let deployed: DeploymentAnswer;

describe('a deployment from a private repository', () => {
  it('is built from its configuration, pushed, and runs by digest, without exposing the token', async () => {
    const head = (await parts.git.git('shop/node', 'rev-parse', 'main')).trim();
    const watched = await watchProcesses(
      (async () => {
        deployed = await berth.create(fromGit('node', 'shop/node', {}, { build_command: 'npm run build' }));
        return untilRevision(deployed, 'DEPLOYED');
      })(),
    );
    const { revision, seen } = watched.result;
    expect([...seen]).toContain('BUILDING');
    expect(revision.source_revision_config.repo_commit_sha).toBe(head);
    expect(revision.resolved_image).toMatch(
      new RegExp(`^${parts.registry.host}/${berth.tenantId}/node-[0-9a-f]{8}@sha256:[0-9a-f]{64}$`),
    );
    expect(watched.gits, 'the clone was seen').toBeGreaterThan(0);
    expect(watched.found).toEqual([]);
    expect(watched.logs).toContain('reading https://');
    expect(watched.logs).toContain('npm run build');
    expect(watched.logs).not.toContain(TOKEN);
    await berth.ready(deployed.id);
    const pods = await kubectlAsAdmin([
      'get',
      'pods',
      '-n',
      `berth-${berth.tenantId}`,
      '-o',
      'jsonpath={.items[*].spec.containers[*].image}',
    ]);
    expect(pods).toContain(revision.resolved_image);
  });

  it('leaves the token in no log, custom resource, event or response', async () => {
    const ours = ['mdep', 'jobs', 'pods', 'events', 'configmaps'].join(',');
    const texts = [
      readFileSync(berth.process().logPath, 'utf8'),
      readFileSync(buildNode.logPath, 'utf8'),
      await kubectlAsAdmin(['get', ours, '-A', '-o', 'json']),
      JSON.stringify(await berth.call('GET', `/v2/deployments/${deployed.id}`)),
      JSON.stringify(await berth.call('GET', `/v2/deployments/${deployed.id}/events`)),
    ];
    for (const text of texts) expect(text.includes(TOKEN)).toBe(false);
  });

  it('has an image with the build results, a numeric user, and neither the token nor git’s files', async () => {
    const [{ resolved_image: image } = { resolved_image: '' }] = await revisionsOf(deployed.id);
    const content = await contentOf(image ?? '');
    expect(content).toContain('"User":"10001:10001"');
    expect(content).toContain('Hello from Node');
    expect(content).toContain('page.html');
    expect(content).not.toContain(TOKEN);
    expect(content).not.toContain('app/.git/');
  });

  it('builds the new commit for a new revision, and a given tag or commit', async () => {
    const first = (await parts.git.git('shop/node', 'rev-parse', 'main')).trim();
    const second = await parts.git.commitFiles('shop/node', { 'extra.txt': 'two' });
    await parts.git.git('shop/node', 'tag', 'v1', first);
    expect((await berth.call('POST', `/v2/deployments/${deployed.id}/revisions`)).status).toBe(201);
    const { revision } = await untilRevision(deployed, 'DEPLOYED', 2);
    expect(revision.source_revision_config.repo_commit_sha).toBe(second);
    for (const [number, repo_ref] of [
      [3, 'refs/tags/v1'],
      [4, second],
    ] as const) {
      const patch = { source_revision_config: { repo_ref } };
      expect((await berth.call('PATCH', `/v2/deployments/${deployed.id}`, patch)).status).toBe(200);
      const { revision: next } = await untilRevision(deployed, 'DEPLOYED', number);
      expect(next.source_revision_config.repo_commit_sha).toBe(number === 3 ? first : second);
    }
  });
});

describe('a repository with its own Dockerfile', () => {
  it('is built with that Dockerfile, from a branch', async () => {
    await parts.git.commitFiles('shop/python', parts.sample('python'), { branch: 'release' });
    const { id } = await berth.create(fromGit('python', 'shop/python', { repo_ref: 'release' }));
    const { revision } = await untilRevision({ id }, 'DEPLOYED');
    expect(revision.build?.phase).toBe('Succeeded');
  });
});

describe('a build that fails', () => {
  it('reports the step and the log lines with the cause when the installation fails', async () => {
    const { id } = await berth.create(
      fromGit('fails', 'shop/node', {}, { install_command: 'echo the-reason-is-this; exit 7' }),
    );
    const { revision } = await untilRevision({ id }, 'BUILD_FAILED');
    expect(revision.reason).toBe('BuildFailed');
    expect(revision.build).toMatchObject({ phase: 'Failed', step: 'image' });
    expect(revision.message).toContain('the-reason-is-this');
    expect(revision.message).toContain('exit code: 7');
  });

  it('reports file and field when the configuration is invalid', async () => {
    await parts.git.commitFiles('shop/bad', { 'berth.yaml': 'language: cobol\n' });
    const { id } = await berth.create(fromGit('bad', 'shop/bad'));
    const { revision } = await untilRevision({ id }, 'BUILD_FAILED');
    expect(revision).toMatchObject({ reason: 'BuildConfigInvalid', build: { step: 'source' } });
    expect(revision.message).toContain('berth.yaml is invalid: language:');
  });
});

it('an uploaded folder without a Dockerfile is built from its package.json, and runs by digest', async () => {
  const { 'berth.yaml': _, ...files } = parts.sample('node');
  const packed = await gzipped(
    Object.entries(files).map(([name, content]) => ({ name, content: String(content) })),
  );
  const hash = createHash('sha256').update(packed);
  const internal = { source: 'internal_image', source_config: {}, source_revision_config: {}, secrets: [] };
  const folderApp = await berth.create({ name: 'folder', ...internal });
  const sources = `${berth.process().url}/v2/deployments/${folderApp.id}/sources?build_command=npm%20run%20build`;
  const uploaded = await fetch(sources, {
    method: 'POST',
    headers: {
      'x-api-key': berth.apiKey,
      'content-type': 'application/gzip',
      'content-digest': `sha-256=:${hash.copy().digest('base64')}:`,
    },
    body: new Uint8Array(packed),
  });
  expect(uploaded.status).toBe(201);
  const { revision, seen } = await untilRevision(folderApp, 'DEPLOYED');
  expect([...seen]).toContain('BUILDING');
  expect(revision).toMatchObject({
    upload: { digest: `sha256:${hash.digest('hex')}`, build_command: 'npm run build' },
    source_revision_config: { repo_commit_sha: null, image_uri: revision.resolved_image },
  });
  expect(await contentOf(revision.resolved_image ?? '')).toContain('"npm","start"');
  const logs = `/v2/deployments/${folderApp.id}/revisions/${revision.id}/build-logs`;
  const { body } = await berth.call<{ resources: { text: string }[] }>('GET', logs);
  expect(body.resources.map(({ text }) => text).join('\n')).toContain('detected node 24 by package.json');
});
