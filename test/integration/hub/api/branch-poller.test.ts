/** Polls of branches with a real git server: pushes without a webhook, and hosts that do not respond. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { RepositoryAccess } from '../../../../src/domain/builds/git-host.ts';
import { resolvePolicy } from '../../../../src/domain/policy/policy.ts';
import { startBranchPoller } from '../../../../src/hub/api/builds/branch-poller.ts';
import type { ApiDeps } from '../../../../src/hub/api/core/deps.ts';
import { createGitHost } from '../../../../src/hub/git-host/git-host.ts';
import { claimBranches, scheduleUnscheduled } from '../../../../src/hub/store/builds/branch-watch.ts';
import { type GitOverHttps, startGitOverHttps } from '../../../cluster/images/git-over-https.ts';
import {
  type ApiFixture,
  type Client,
  create,
  type Deployment,
  startApi,
  uniqueName,
} from '../../harness/api.ts';
import { startGitServer } from '../../harness/git-server.ts';

const TOKEN = 'glpat-canary-77aa';
const PATIENCE = { timeout: 60_000, interval: 50 };

let api: ApiFixture;
let git: GitOverHttps;
let client: Client;
let integrationId: string;
const pollers: { stop(): Promise<void> }[] = [];

const hostOptions = () => ({ allowPrivate: true, ca: git.ca, deadlineMs: 30_000 });
let depsOfPoller: ApiDeps;

beforeAll(async () => {
  git = await startGitOverHttps({ token: TOKEN });
  api = await startApi({ hosting: 'cloud', deps: { gitHost: createGitHost(hostOptions()) } });
  client = await api.tenant();
  const body = { name: 'git', provider: 'gitlab', host_url: git.url, token: TOKEN };
  integrationId = (await client.call<{ id: string }>('POST', '/v2/integrations', body)).body.id;
  const { database, box, logger } = api.store;
  depsOfPoller = {
    database,
    secretBox: box,
    logger,
    policy: resolvePolicy('cloud'),
    gitHost: createGitHost(hostOptions()),
  } as unknown as ApiDeps;
  // Two replicas; how soon is the database's to say, by `lookNow`.
  for (let n = 0; n < 2; n += 1)
    pollers.push(startBranchPoller(depsOfPoller, { everySeconds: 3000, tickMs: 50, random: () => 0.5 }));
});
afterAll(async () => {
  for (const poller of pollers) await poller.stop();
  await api?.stop();
  await git?.stop();
});

/** A deployment of a repository of the git server, which no public URL names: so it is put there past the API. */
async function tracking(repository: string, ref: string | null = null): Promise<Deployment> {
  const made = await create(client, {
    source: 'git_host',
    source_config: { repo_url: 'https://git.example.com/shop/web', build_on_push: true },
    source_revision_config: { workflow_config_path: 'app.yaml', ...(ref === null ? {} : { repo_ref: ref }) },
  });
  await api.store.sql(
    `UPDATE deployments SET source_config = source_config || jsonb_build_object('repo_url', $2::text, 'integration_id', $3::text),
       next_poll_at = now() + interval '1 day' WHERE id = $1`,
    [made.id, `${git.url}/${repository}`, integrationId],
  );
  return made;
}

/** As the build of the latest revision would tell: what it was made of. */
const built = (id: string, commit: string) =>
  api.store.sql(
    `WITH r AS (UPDATE revisions SET status = 'DEPLOYED',
       source_revision_config = source_revision_config || jsonb_build_object('repo_commit_sha', $2::text)
       WHERE id = (SELECT latest_revision_id FROM deployments WHERE id = $1))
     UPDATE deployments SET source_revision_config = source_revision_config || jsonb_build_object('repo_commit_sha', $2::text)
     WHERE id = $1`,
    [id, commit],
  );

interface PollState {
  watch: { branch: string; commit: string | null; failures: number; told: string | null } | null;
  seconds: number;
}

async function stateOf(id: string): Promise<PollState> {
  const [row] = await api.store.sql<PollState>(
    `SELECT branch_watch AS watch, extract(epoch FROM next_poll_at - now())::float8 AS seconds FROM deployments WHERE id = $1`,
    [id],
  );
  return row ?? { watch: null, seconds: 0 };
}

/** Makes a branch due and waits until it was polled. The next poll is then due after the interval. */
async function poll(...ids: string[]): Promise<PollState> {
  await api.store.sql('UPDATE deployments SET next_poll_at = now() WHERE id = ANY($1::uuid[])', [ids]);
  for (const id of ids)
    await expect.poll(async () => (await stateOf(id)).seconds, PATIENCE).toBeGreaterThan(1000);
  return stateOf(ids[0] ?? '');
}

const commitOf = async (id: string) =>
  (await client.call<Deployment>('GET', `/v2/deployments/${id}`)).body.source_revision_config[
    'repo_commit_sha'
  ];

const events = async (id: string) =>
  (
    await client.call<{ resources: { reason: string; actor: object; message: string; details: object }[] }>(
      'GET',
      `/v2/deployments/${id}/events?limit=100`,
    )
  ).body.resources;

describe('a new commit', () => {
  test('of the default or the configured branch creates one revision, as a push does', async () => {
    const repository = `shop/${uniqueName()}`;
    const first = await git.commitFiles(repository, { 'app.yaml': 'a' });
    const next = await git.commitFiles(repository, { 'app.yaml': 'b' }, { branch: 'next' });
    await git.commitFiles(repository, { 'app.yaml': 'c' }, { branch: 'next-2' });
    const [byDefault, named] = [await tracking(repository), await tracking(repository, 'refs/heads/next')];
    await built(byDefault.id, first);
    await built(named.id, first);
    const before = git.requests.length;
    await poll(byDefault.id, named.id);
    // One poll serves both.
    expect(git.requests.length - before).toBeLessThanOrEqual(4);
    expect([await commitOf(byDefault.id), await commitOf(named.id)]).toEqual([first, next]);
    expect((await stateOf(byDefault.id)).watch).toMatchObject({ branch: 'main', commit: first });

    const second = await git.commitFiles(repository, { 'app.yaml': 'd' });
    await poll(byDefault.id);
    await poll(byDefault.id, named.id);
    expect([await commitOf(byDefault.id), await commitOf(named.id)]).toEqual([second, next]);
    const told = (await events(byDefault.id)).filter(({ reason }) => reason === 'CommitPushed');
    expect(told).toMatchObject([
      {
        actor: { kind: 'system', name: 'branch poller' },
        details: { branch: 'main', commit: second, before: first },
      },
    ]);
  });

  test('creates no revision while a running build may contain it, and none if that build did', async () => {
    const repository = `shop/${uniqueName()}`;
    const head = await git.commitFiles(repository, { 'app.yaml': 'a' });
    const { id } = await tracking(repository);
    await poll(id);
    expect(await commitOf(id)).toBeNull();
    await built(id, head);
    await poll(id);
    const { body } = await client.call<Deployment>('GET', `/v2/deployments/${id}`);
    expect(body.generation).toBe(1);
  });

  test('counts only when the branch moves, so that a rollback stays and a forced branch is followed', async () => {
    const repository = `shop/${uniqueName()}`;
    const first = await git.commitFiles(repository, { 'app.yaml': 'a' });
    const { id } = await tracking(repository);
    await built(id, first);
    await poll(id);
    const second = await git.commitFiles(repository, { 'app.yaml': 'b' });
    await poll(id);
    expect(await commitOf(id)).toBe(second);
    // As a rollback.
    await built(id, first);
    await poll(id);
    expect(await commitOf(id)).toBe(first);
    await git.git(repository, 'update-ref', 'refs/heads/main', first);
    await built(id, second);
    await poll(id);
    expect(await commitOf(id)).toBe(first);
  });
});

describe('a failed poll', () => {
  const failures = async (id: string) =>
    (await events(id))
      .filter(({ reason }) => reason.startsWith('Branch'))
      .map(({ reason, message }) => `${reason}: ${message}`);

  test('is recorded once without secrets and retried with backoff, and its end is recorded', async () => {
    const repository = `shop/${uniqueName()}`;
    await git.commitFiles(repository, { 'app.yaml': 'a' });
    const { id } = await tracking(repository);
    await poll(id);
    await git.halt();
    const waits: number[] = [];
    for (let n = 0; n < 4; n += 1) waits.push((await poll(id)).seconds);
    await git.start();
    // Every 3000 seconds, doubled up to an hour.
    expect(waits.map((seconds) => Math.round(seconds / 100))).toEqual([36, 36, 36, 36]);
    expect(await failures(id)).toEqual([
      'BranchUnreadable: The branch main could not be polled: the git host cannot be reached or responds with an error.',
    ]);
    git.token = 'another';
    await poll(id);
    git.token = TOKEN;
    await poll(id);
    expect((await failures(id)).map((line) => line.split(':')[0])).toEqual([
      'BranchReadable',
      'BranchUnreadable',
      'BranchUnreadable',
    ]);
    expect((await failures(id))[1]).toContain('rejects the token');
    expect((await stateOf(id)).watch).toMatchObject({ failures: 0, told: null });
    const rows = await api.store.sql<{ text: string }>('SELECT e::text AS text FROM events e');
    expect(JSON.stringify([rows, api.store.logger.lines])).not.toContain(TOKEN);
  });

  test.each([
    ['a branch that is not there', 'none', 'the branch does not exist in the repository'],
    ['a repository that is not there', null, 'the repository does not exist on the git host'],
  ])('is recorded at the second attempt for %s', async (_what, ref, words) => {
    const repository = `shop/${uniqueName()}`;
    if (ref !== null) await git.commitFiles(repository, { 'app.yaml': 'a' });
    const { id } = await tracking(repository, ref);
    await poll(id);
    expect(await failures(id)).toEqual([]);
    await poll(id);
    expect(await failures(id)).toEqual([expect.stringContaining(words)]);
  });
});

describe('the schedule of polls', () => {
  const due = async (id: string) =>
    (
      await api.store.sql<{ due: boolean }>(
        'SELECT next_poll_at IS NOT NULL AS due FROM deployments WHERE id = $1',
        [id],
      )
    )[0]?.due;
  const patch = (id: string, build_on_push: boolean) =>
    client.call('PATCH', `/v2/deployments/${id}`, { source_config: { build_on_push } });

  test('follows build_on_push, through deletion and restore', async () => {
    const { id } = await create(client, {
      source: 'git_host',
      source_config: { repo_url: 'https://git.example.com/shop/web' },
      source_revision_config: { workflow_config_path: 'app.yaml' },
    });
    expect(await due(id)).toBe(false);
    await patch(id, true);
    expect(await due(id)).toBe(true);
    await patch(id, false);
    expect(await due(id)).toBe(false);
    await patch(id, true);
    await client.call('DELETE', `/v2/deployments/${id}`);
    expect(await due(id)).toBe(false);
    await api.store.sql(`UPDATE deployments SET purge_after = now() + interval '1 hour' WHERE id = $1`, [id]);
    expect((await client.call('POST', `/v2/deployments/${id}/restore`)).status).toBe(200);
    expect(await due(id)).toBe(true);
    await api.store.sql('UPDATE deployments SET next_poll_at = NULL WHERE id = $1', [id]);
    await api.store.database.platform.transaction(scheduleUnscheduled);
    expect(await due(id)).toBe(true);
    await api.store.sql(`UPDATE deployments SET next_poll_at = now() + interval '1 day' WHERE id = $1`, [id]);
  });

  test('gives each due branch to one process', async () => {
    const ids: string[] = [];
    for (let n = 0; n < 6; n += 1) ids.push((await tracking(`shop/${uniqueName()}`)).id);
    for (const poller of pollers.splice(0)) await poller.stop();
    await api.store.sql('UPDATE deployments SET next_poll_at = now() WHERE id = ANY($1::uuid[])', [ids]);
    const claims = await Promise.all(
      Array.from({ length: 6 }, () =>
        api.store.database.platform.transaction((transaction) =>
          claimBranches(transaction, { limit: 2, leaseSeconds: 60 }),
        ),
      ),
    );
    const taken = claims.flat().map(({ id }) => id);
    expect(taken.length).toBeGreaterThan(1);
    expect(new Set(taken).size).toBe(taken.length);
    expect(taken.every((id) => ids.includes(id))).toBe(true);
  });

  test('gives all branches of a repository to one process when processes claim at the same time', async () => {
    for (const poller of pollers.splice(0)) await poller.stop();
    const repository = `shop/${uniqueName()}`;
    const ids: string[] = [];
    for (let n = 0; n < 12; n += 1) ids.push((await tracking(repository)).id);
    for (let round = 0; round < 10; round += 1) {
      await api.store.sql('UPDATE deployments SET next_poll_at = now() WHERE id = ANY($1::uuid[])', [ids]);
      const claims = await Promise.all(
        Array.from({ length: 6 }, () =>
          api.store.database.platform.transaction((transaction) =>
            claimBranches(transaction, { limit: 8, leaseSeconds: 60 }),
          ),
        ),
      );
      const sizes = claims.map((claim) => claim.filter(({ id }) => ids.includes(id)).length);
      expect(sizes.filter((size) => size > 0)).toEqual([ids.length]);
    }
  });

  test('includes only branches with a push of unclear order, once, when polling is disabled', async () => {
    for (const poller of pollers.splice(0)) await poller.stop();
    const repository = `shop/${uniqueName()}`;
    const head = await git.commitFiles(repository, { 'app.yaml': 'a' });
    const [unsure, other] = [await tracking(repository), await tracking(repository)];
    const ids = [unsure.id, other.id];
    for (const id of ids) await built(id, 'b'.repeat(40));
    const watch = { branch: 'main', commit: 'b'.repeat(40), pushes: [], failures: 0, told: null, soon: true };
    const set = 'UPDATE deployments SET next_poll_at = now(), branch_watch = $2 WHERE id = $1';
    await api.store.sql(set, [unsure.id, JSON.stringify(watch)]);
    await api.store.sql(set, [other.id, JSON.stringify({ ...watch, soon: false })]);
    const poller = startBranchPoller(depsOfPoller, { everySeconds: 0, tickMs: 50 });
    try {
      await expect.poll(() => commitOf(unsure.id), PATIENCE).toBe(head);
    } finally {
      await poller.stop();
    }
    expect((await stateOf(unsure.id)).watch).toMatchObject({ commit: head, soon: false });
    expect(await commitOf(other.id)).toBe('b'.repeat(40));
    expect((await stateOf(other.id)).watch).toMatchObject({ commit: 'b'.repeat(40) });
  });
});

describe('the client of git', () => {
  const access = (repoUrl: string, token: string | null = TOKEN): RepositoryAccess => ({
    provider: 'git',
    repoUrl,
    token,
  });
  const heads = (repoUrl: string, options: object = {}) =>
    createGitHost({ ...hostOptions(), ...options }).branchHeads(access(repoUrl), ['main'], 'tenant');

  test('rejects private addresses, and stops at its deadline', async () => {
    const url = `${git.url}/shop/web`;
    const before = git.requests.length;
    await expect(heads(url, { allowPrivate: false })).rejects.toMatchObject({ failure: 'private_address' });
    const named = url.replace('127.0.0.1', 'localhost');
    await expect(heads(named, { allowPrivate: false })).rejects.toMatchObject({ failure: 'private_address' });
    expect(git.requests.length).toBe(before);
    git.hang = true;
    await expect(heads(url, { deadlineMs: 300 })).rejects.toMatchObject({ failure: 'timeout' });
    git.hang = false;
  });

  test('follows a few redirects within the host, and never sends its token elsewhere', async () => {
    const redirecting = await startGitServer({ token: TOKEN, count: 0 });
    const at = { ca: redirecting.ca };
    const advertisement = 'info/refs?service=git-upload-pack';
    const to = (location: string) => {
      redirecting.reply = { kind: 'status', status: 301, headers: { location } };
      redirecting.requests.length = 0;
    };
    const url = `${redirecting.url}/shop/web`;
    to(`/shop/web.git/${advertisement}`);
    await expect(heads(url, at)).rejects.toMatchObject({ failure: 'unavailable' });
    expect(redirecting.requests).toEqual([
      `/shop/web/${advertisement}`,
      ...Array(3).fill(`/shop/web.git/${advertisement}`),
    ]);
    const before = git.requests.length;
    for (const elsewhere of [`${git.url}/shop/web/${advertisement}`, '/stolen', 'http://127.0.0.1/', '//[']) {
      to(elsewhere);
      await expect(heads(url, at)).rejects.toMatchObject({ failure: 'unavailable' });
      expect(redirecting.requests, elsewhere).toEqual([`/shop/web/${advertisement}`]);
    }
    expect(git.requests.length).toBe(before);
    await redirecting.stop();
  });

  test('finds the requested branch among branches with the same prefix', async () => {
    const repository = `shop/${uniqueName()}`;
    const commit = await git.commitFiles(repository, { a: 'a' });
    await git.git(repository, 'update-ref', 'refs/heads/main-2', commit);
    await git.git(repository, 'update-ref', 'refs/tags/main', commit);
    const found = await createGitHost(hostOptions()).branchHeads(
      access(`${git.url}/${repository}.git`),
      ['main', null, 'mai', 'main-2'],
      'tenant',
    );
    expect(found).toEqual([
      { branch: 'main', commit },
      { branch: 'main', commit },
      null,
      { branch: 'main-2', commit },
    ]);
  });

  test('reports whether a failure was refused, limited or unavailable', async () => {
    for (const [status, failure] of [
      [403, 'refused'],
      [429, 'limited'],
      [500, 'unavailable'],
      [302, 'unavailable'],
    ] as const) {
      git.status = status;
      await expect(heads(`${git.url}/shop/web`)).rejects.toMatchObject({ failure });
    }
    git.status = undefined;
  });
});
