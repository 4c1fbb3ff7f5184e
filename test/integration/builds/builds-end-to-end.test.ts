/** From the POST of a repository to pods of its image, with all components; the test drives the pod of the build. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { waitFor } from '../../cluster/wait.ts';
import { type DeploymentAnswer, startWholeBerth, type WholeBerth } from '../harness/berth.ts';
import {
  COMMIT,
  createBuildNamespace,
  DIGEST,
  type DrivenBuilds,
  drivenBuilds,
  NO_NODE,
} from '../harness/build-namespace.ts';
import { deleteNamespace, kubectlAsAdmin } from '../harness/environment.ts';

interface Revision {
  id: string;
  number: number;
  status: string;
  reason: string | null;
  message: string | null;
  resolved_image: string | null;
  source_revision_config: { image_uri: string | null; repo_commit_sha: string | null };
  build: { phase: string; step?: string; started_at?: string; finished_at?: string } | null;
}
type Git = DeploymentAnswer & { source_revision_config: Revision['source_revision_config'] };

let berth: WholeBerth;
let namespace: string;
let builds: DrivenBuilds;
beforeAll(async () => {
  namespace = await createBuildNamespace('whole');
  builds = drivenBuilds(namespace);
  await builds.kubectl(
    'create',
    'secret',
    'docker-registry',
    'bases',
    '--docker-server=bases.example',
    '--docker-username=platform',
    '--docker-password=of-the-bases',
  );
  berth = await startWholeBerth('built', {
    hosting: 'cloud',
    settings: {
      BERTH_REGISTRY: 'registry.example',
      BERTH_BUILD_NAMESPACE: namespace,
      BERTH_BUILD_BASE_SECRET: 'bases',
      BERTH_BUILD_PULL_SECRET: 'mirror',
      BERTH_BUILD_CA_CONFIG_MAP: 'authorities',
      BERTH_BUILD_PROXY: 'http://proxy.example:3128',
      BERTH_BUILD_NODE_SELECTOR: Object.entries(NO_NODE)
        .map(([key, value]) => `${key}=${value}`)
        .join(','),
    },
  });
});
afterAll(async () => {
  await berth?.stop();
  await Promise.all([deleteNamespace(namespace), deleteNamespace(`berth-${berth.tenantId}`)]);
});

const gitHost = (name: string) => ({
  name,
  source: 'git_host',
  source_config: { repo_url: 'https://git.example/team/app' },
  source_revision_config: { workflow_config_path: 'app.json', repo_ref: 'main' },
  secrets: [],
});

async function revisionsOf(id: string): Promise<Revision[]> {
  const answer = await berth.call<{ resources: Revision[] }>('GET', `/v2/deployments/${id}/revisions`);
  return answer.body.resources;
}

/**
 * Changes of the revision's status, in order. They are read from the history, because a status may last only a
 * moment.
 */
async function waysOf(id: string, revisionId: string): Promise<string[]> {
  const { body } = await berth.call<{
    resources: { revision_id: string | null; details: { from?: string; to?: string } }[];
  }>('GET', `/v2/deployments/${id}/events?limit=100`);
  return body.resources
    .filter(({ revision_id, details }) => revision_id === revisionId && details.to !== undefined)
    .map(({ details }) => `${details.from} → ${details.to}`)
    .reverse();
}

const until = (id: string, number: number, what: string, check: (revision: Revision) => boolean) =>
  waitFor(
    `revision ${number}: ${what}`,
    async () => (await revisionsOf(id)).find((revision) => revision.number === number && check(revision)),
    { timeoutMs: 60_000, intervalMs: 100 },
  );

/** The one Job that runs for this revision. */
const jobOf = (revisionId: string) =>
  waitFor(
    `the Job of ${revisionId}`,
    async () =>
      (await builds.jobs()).find(({ metadata }) => metadata.labels['berth.dev/revision-id'] === revisionId)
        ?.metadata.name,
    { timeoutMs: 60_000, intervalMs: 100 },
  );

const secrets = async () =>
  (await builds.kubectl('get', 'secrets', '-o', 'name', '-l', 'app.kubernetes.io/managed-by=berth')).trim();

describe('a repository', () => {
  let id: string;
  let appName: string;

  it('is built and rolled out, with AWAITING_BUILD, BUILDING and then the statuses of every image', async () => {
    const dry = await berth.call<{ builds: boolean }>('POST', '/v2/deployments?dry_run=true', gitHost('web'));
    expect([dry.status, dry.body.builds]).toEqual([200, true]);
    const created = await berth.create(gitHost('web'));
    id = created.id;
    const [first] = await revisionsOf(id);
    const job = await jobOf(first?.id ?? '');
    expect(await secrets()).toBe(`secret/${job}`);
    await builds.set(job, { source: { exitCode: 0 }, image: 'runs' });
    const building = await until(id, 1, 'BUILDING', ({ build }) => build?.step === 'image');
    expect(building).toMatchObject({ status: 'BUILDING', reason: 'Building', build: { phase: 'Running' } });
    expect(await waysOf(id, building.id)).toContain('AWAITING_BUILD → BUILDING');
    await builds.succeed(job);
    const ready = (await berth.ready(id)) as Git;
    const image = ready.source_revision_config.image_uri ?? '';
    expect(image).toMatch(new RegExp(`^registry\\.example/${berth.tenantId}/web-[0-9a-f]{8}@${DIGEST}$`));
    appName = image.split('/').at(-1)?.split('@')[0] ?? '';
    expect(ready.source_revision_config.repo_commit_sha).toBe(COMMIT);
    const [deployed] = await revisionsOf(id);
    expect(deployed).toMatchObject({
      status: 'DEPLOYED',
      resolved_image: image,
      source_revision_config: { image_uri: image, repo_commit_sha: COMMIT },
      build: { phase: 'Succeeded', finished_at: expect.any(String) },
    });
    expect(await builds.jobs()).toHaveLength(1);
    await waitFor('its credentials to go', async () => ((await secrets()) === '' ? true : undefined), {
      timeoutMs: 30_000,
    });
  });

  it('serves its former image during a new build and after a failed one', async () => {
    const before = await berth.ready(id);
    const made = await berth.call<Revision>('POST', `/v2/deployments/${id}/revisions`, {});
    expect(made.body).toMatchObject({ number: 2, status: 'AWAITING_BUILD', build: null });
    const job = await jobOf(made.body.id);
    await until(id, 2, 'BUILDING', ({ status }) => status === 'BUILDING');
    await builds.set(job, { source: { exitCode: 0 }, image: { exitCode: 1, message: 'npm ERR! it broke' } });
    const failed = await until(id, 2, 'BUILD_FAILED', ({ status }) => status === 'BUILD_FAILED');
    expect(failed).toMatchObject({ reason: 'BuildFailed', build: { phase: 'Failed', step: 'image' } });
    expect(failed.message).toContain('npm ERR! it broke');
    const after = await berth.until(id, 'as before', (now) => now.remote_reconciled);
    expect([after.status, after.active_revision_id]).toEqual(['READY', before.active_revision_id]);
    const ready = after.conditions.find(({ type }) => type === 'Ready');
    expect([ready?.status, ready?.reason]).toEqual(['False', 'BuildFailed']);
    expect(ready?.message).toContain('the build of revision 2 failed');
  });

  it('needs no build for a rollback, because the digest is known', async () => {
    const [, first] = await revisionsOf(id);
    const jobs = await builds.jobs();
    const back = await berth.call<Revision>(
      'POST',
      `/v2/deployments/${id}/revisions/${first?.id}/rollback`,
      {},
    );
    expect(back.body).toMatchObject({ number: 3, status: 'QUEUED', resolved_image: first?.resolved_image });
    await berth.ready(id);
    expect((await builds.jobs()).length).toBeLessThanOrEqual(jobs.length);
  });

  it('leaves neither Job nor credentials when it is deleted during a build', async () => {
    const made = await berth.call<Revision>('POST', `/v2/deployments/${id}/revisions`, {});
    await jobOf(made.body.id);
    expect((await berth.call('DELETE', `/v2/deployments/${id}`)).status).toBe(204);
    await waitFor(
      'it to be gone',
      async () => ((await berth.call('GET', `/v2/deployments/${id}`)).status === 404 ? true : undefined),
      { timeoutMs: 60_000 },
    );
    const left = await builds.kubectl(
      'get',
      'jobs,secrets',
      '-o',
      'name',
      '-l',
      `app.kubernetes.io/instance=${appName}`,
    );
    expect(left.trim()).toBe('');
  });
});

it('runs the commands of a Procfile, which a rollback restores, unless the request has its own', async () => {
  interface WithCommands extends Revision {
    effective_commands?: Record<string, { args: string[]; source: string }>;
  }
  const created = await berth.create(gitHost('procfile'));
  const [first] = await revisionsOf(created.id);
  const procfile = { web: 'node server.js', worker: 'node worker.js' };
  await builds.succeed(await jobOf(first?.id ?? ''), { procfile });
  const ready = (await berth.ready(created.id)) as Git;
  const latest = async () => (await revisionsOf(created.id))[0] as WithCommands;
  const shell = (line: string, source = 'procfile') => ({ command: ['/bin/sh', '-c'], args: [line], source });
  expect(await latest()).toMatchObject({
    effective_commands: { api: shell('node server.js'), queue: shell('node worker.js') },
  });
  expect(ready.source_revision_config).not.toHaveProperty('commands');
  expect(ready.source_revision_config).not.toHaveProperty('procfile');
  const selector = `berth.dev/deployment-id=${created.id},app.kubernetes.io/component=queue`;
  expect(await kubectlAsAdmin(['get', 'deploy', '-A', '-o', 'name', '-l', selector])).toContain('-queue');
  // The commands of the request win, and the image is not built again.
  const own = { queue: { args: ['mine'] } };
  const patched = await berth.call('PATCH', `/v2/deployments/${created.id}`, {
    source_revision_config: { commands: own },
  });
  expect(patched.status, JSON.stringify(patched.body)).toBe(200);
  await berth.ready(created.id);
  expect(await latest()).toMatchObject({
    number: 2,
    effective_commands: { api: shell('node server.js'), queue: { args: ['mine'], source: 'commands' } },
  });
  // A commit without a Procfile has no commands, and no queue apart from that of the request.
  await berth.call('PATCH', `/v2/deployments/${created.id}`, {
    source_revision_config: { commands: null, repo_ref: 'next' },
  });
  const third = await until(created.id, 3, 'to be built', () => true);
  expect(third).not.toHaveProperty('effective_commands');
  await builds.succeed(await jobOf(third.id));
  await berth.ready(created.id);
  expect(await latest()).not.toHaveProperty('effective_commands');
  await berth.call('POST', `/v2/deployments/${created.id}/revisions/${first?.id}/rollback`, {});
  await berth.ready(created.id);
  expect(await latest()).toMatchObject({
    number: 4,
    effective_commands: { api: shell('node server.js'), queue: shell('node worker.js') },
  });
});

it('passes credentials for base images to the build step only through its Secret', async () => {
  const { id } = await berth.create(gitHost('private-bases'));
  const [first] = await revisionsOf(id);
  const job = await jobOf(first?.id ?? '');
  const text = await builds.kubectl('get', 'job', job, '-o', 'json');
  expect(text).not.toContain('of-the-bases');
  const { imagePullSecrets, volumes } = (
    JSON.parse(text) as {
      spec: {
        template: {
          spec: { imagePullSecrets: object[]; volumes: { name: string; secret?: { secretName: string } }[] };
        };
      };
    }
  ).spec.template.spec;
  expect(imagePullSecrets).toEqual([{ name: 'mirror' }]);
  const name = volumes.find((volume) => volume.name === 'registry')?.secret?.secretName ?? '';
  const { data } = JSON.parse(await builds.kubectl('get', 'secret', name, '-o', 'json')) as {
    data: Record<string, string>;
  };
  const config = JSON.parse(Buffer.from(data['config.json'] ?? '', 'base64').toString());
  expect(config).toMatchObject({ auths: { 'bases.example': { password: 'of-the-bases' } } });
  expect((await berth.call('DELETE', `/v2/deployments/${id}`)).status).toBe(204);
});

it('reports UNUSED with the reason when the first build fails, and serves after the next build', async () => {
  const { id } = await berth.create(gitHost('fails-first'));
  const [first] = await revisionsOf(id);
  const job = await jobOf(first?.id ?? '');
  await builds.set(job, {
    source: {
      exitCode: 1,
      message: JSON.stringify({ reason: 'RefNotFound', message: 'there is no branch main' }),
    },
  });
  await until(
    id,
    1,
    'BUILD_FAILED',
    ({ status, reason }) => status === 'BUILD_FAILED' && reason === 'RefNotFound',
  );
  await berth.until(id, 'UNUSED', ({ status }) => status === 'UNUSED');
  const again = await berth.call<Revision>('POST', `/v2/deployments/${id}/revisions`, {});
  await builds.succeed(await jobOf(again.body.id));
  await berth.ready(id);
});

it('builds nothing twice when listener and hub are killed during a build', async () => {
  const { id } = await berth.create(gitHost('killed'));
  const [first] = await revisionsOf(id);
  const job = await jobOf(first?.id ?? '');
  await berth.process().stop('SIGKILL');
  await builds.succeed(job);
  await berth.restart();
  await berth.ready(id);
  const made = (await builds.jobs()).filter(
    ({ metadata }) => metadata.labels['berth.dev/revision-id'] === first?.id,
  );
  expect(made).toHaveLength(1);
  expect(await revisionsOf(id)).toHaveLength(1);
});

it('creates the credentials again and retries the build when node and credentials are lost', async () => {
  const { id } = await berth.create(gitHost('lost'));
  const [first] = await revisionsOf(id);
  const job = await jobOf(first?.id ?? '');
  await builds.set(job, { source: 'runs' });
  await until(id, 1, 'BUILDING', ({ build }) => build?.step === 'source');
  await builds.kubectl('delete', 'secret', job);
  // As the build node reports it after a restart (test/cluster/build-node/pod-status.ts).
  await builds.set(
    job,
    { source: { exitCode: 137, reason: 'ContainerStatusUnknown', message: 'lost' } },
    { phase: 'Failed', reason: 'NodeLost', message: 'lost' },
  );
  await waitFor(
    'its credentials to be there again',
    async () => ((await secrets()).includes(`secret/${job}`) ? true : undefined),
    { timeoutMs: 60_000 },
  );
  await builds.succeed(`${job}-2`);
  await berth.ready(id);
});
