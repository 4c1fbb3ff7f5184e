/** Webhooks: who may deliver one, what a push makes, and that a delivery counts once, however often and wherever it comes. */
import { createHmac, randomBytes } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { resolvePolicy } from '../../../../src/domain/policy/policy.ts';
import { buildApp } from '../../../../src/hub/api/core/app.ts';
import { createWorkHints } from '../../../../src/hub/api/listeners/work-hints.ts';
import { createGitHost } from '../../../../src/hub/git-host/git-host.ts';
import {
  type ApiFixture,
  type Client,
  create,
  type Deployment,
  startApi,
  uniqueName,
} from '../../harness/api.ts';
import { checkAnswers } from '../../harness/conformance.ts';
import { sweep } from '../../harness/store.ts';

const HOST = 'https://git.example.com';
const NONE = '0'.repeat(40);
const newCommit = () => randomBytes(20).toString('hex');

let api: ApiFixture;
/** Another replica, on the same database. */
let other: FastifyInstance;
let now = new Date();

beforeAll(async () => {
  const clock = () => now;
  api = await startApi({ hosting: 'cloud', deps: { clock } });
  const { database, box, logger } = api.store;
  other = buildApp({
    database,
    secretBox: box,
    policy: resolvePolicy('cloud'),
    hosting: 'cloud',
    logger,
    hints: createWorkHints(),
    leaseSeconds: 60,
    version: '0.0.0-test',
    publicUrl: null,
    appDomain: null,
    registry: null,
    gitHost: createGitHost({ allowPrivate: false }),
    rateLimits: { perKey: null, failures: null, webhooks: { perSecond: 0.01, burst: 60 } },
    clock,
  });
  checkAnswers(other);
  await other.ready();
});
afterAll(async () => {
  await other?.close();
  await api?.stop();
});

interface Hook {
  readonly client: Client;
  readonly id: string;
  readonly secret: string;
  /** Of its repository, without the host. */
  readonly repository: string;
}

interface WebhookSecret {
  url: string;
  secret: string;
  former_valid_until: string | null;
}

const secretOf = async (client: Client, id: string) =>
  (await client.call<WebhookSecret>('POST', `/v2/integrations/${id}/webhook-secret`)).body;

async function hook(provider = 'github', by?: Client): Promise<Hook> {
  const client = by ?? (await api.tenant());
  const body = { name: uniqueName(), provider, host_url: HOST, token: 'write-only' };
  const { id } = (await client.call<{ id: string }>('POST', '/v2/integrations', body)).body;
  const { secret } = await secretOf(client, id);
  return { client, id, secret, repository: `shop/${uniqueName()}` };
}

const tracking = (of: Hook, ref: string | null = null, config: object = {}) =>
  create(of.client, {
    source: 'git_host',
    source_config: {
      repo_url: `${HOST}/${of.repository}`,
      integration_id: of.id,
      build_on_push: true,
      ...config,
    },
    source_revision_config: { workflow_config_path: 'app.yaml', ...(ref === null ? {} : { repo_ref: ref }) },
    secrets: [{ name: 'A', value: 'kept' }],
  });

/** The shape of GitHub's push event, as far as it matters here and a little beyond. */
const githubPush = (repository: string, before: string, after: string, ref = 'refs/heads/main') => ({
  ref,
  before,
  after,
  created: before === NONE,
  deleted: after === NONE,
  forced: false,
  base_ref: null,
  compare: `${HOST}/${repository}/compare/x`,
  commits: [{ id: after, message: 'Add a shop [skip ci]', added: ['a'], removed: [], modified: [] }],
  head_commit: null,
  repository: {
    id: 1296269,
    full_name: repository,
    private: true,
    html_url: `${HOST}/${repository}`,
    clone_url: `${HOST}/${repository.toUpperCase()}.git`,
    ssh_url: `git@git.example.com:${repository}.git`,
    default_branch: 'main',
    pushed_at: 1_768_469_400,
  },
  pusher: { name: 'mona', email: 'mona@example.com' },
  sender: { login: 'mona', id: 1 },
});

/** The shape of GitLab's push event. */
const gitlabPush = (repository: string, before: string, after: string, ref = 'refs/heads/main') => ({
  object_kind: 'push',
  event_name: 'push',
  before,
  after,
  ref,
  checkout_sha: after,
  user_username: 'mona',
  project_id: 15,
  project: {
    name: 'Shop',
    web_url: `${HOST}/${repository}`,
    git_ssh_url: `git@git.example.com:${repository}.git`,
    git_http_url: `${HOST}/${repository}.git`,
    default_branch: 'main',
    path_with_namespace: repository,
  },
  commits: [{ id: after, message: 'Add a shop' }],
  total_commits_count: 1,
  repository: { name: 'Shop', homepage: `${HOST}/${repository}` },
});

interface Delivered {
  event: string;
  result: string;
  deployments: { deployment_id: string; outcome: string; revision_id: string | null }[];
  detail?: unknown;
}

async function post(
  id: string,
  payload: string,
  headers: Record<string, string>,
  app: FastifyInstance = api.app,
): Promise<{ status: number; body: Delivered; headers: Record<string, unknown> }> {
  const response = await app.inject({
    method: 'POST',
    url: `/v2/webhooks/${id}`,
    headers: { 'content-type': 'application/json', ...headers },
    payload,
  });
  return { status: response.statusCode, body: response.json(), headers: response.headers };
}

const signature = (secret: string, payload: string) =>
  `sha256=${createHmac('sha256', secret).update(payload).digest('hex')}`;

interface Sent {
  event?: string;
  delivery?: string;
  secret?: string;
  app?: FastifyInstance;
}

function github(to: Hook, payload: object, { event = 'push', delivery, secret, app }: Sent = {}) {
  const text = JSON.stringify(payload);
  const headers = {
    'x-github-event': event,
    'x-github-delivery': delivery ?? randomBytes(16).toString('hex'),
    'x-hub-signature-256': signature(secret ?? to.secret, text),
  };
  return post(to.id, text, headers, app);
}

const gitlab = (to: Hook, payload: object, headers: Record<string, string> = {}) =>
  post(to.id, JSON.stringify(payload), {
    'x-gitlab-event': 'Push Hook',
    'x-gitlab-token': to.secret,
    ...headers,
  });

const read = async (client: Client, id: string) =>
  (await client.call<Deployment>('GET', `/v2/deployments/${id}`)).body;

interface Revision {
  id: string;
  number: number;
  status: string;
  source_revision_config: { repo_commit_sha: string | null; image_uri: string | null };
}

const revisions = async (client: Client, id: string) =>
  (await client.call<{ resources: Revision[] }>('GET', `/v2/deployments/${id}/revisions?limit=100`)).body
    .resources;

const events = async (client: Client, id: string) =>
  (
    await client.call<{ resources: { reason: string; actor: object; message: string; details: object }[] }>(
      'GET',
      `/v2/deployments/${id}/events?limit=100`,
    )
  ).body.resources;

const outcomes = ({ body }: { body: Delivered }) =>
  Object.fromEntries(body.deployments.map(({ deployment_id: id, outcome }) => [id, outcome]));

describe('a push', () => {
  test('creates a revision of its commit without other changes, and records the webhook as the actor', async () => {
    const to = await hook();
    const deployment = await tracking(to);
    const after = newCommit();
    const answer = await github(to, githubPush(to.repository, newCommit(), after), { delivery: 'd-1' });
    expect(answer).toMatchObject({ status: 200, body: { event: 'push', result: 'taken' } });
    const now = await read(to.client, deployment.id);
    expect(answer.body.deployments).toEqual([
      { deployment_id: deployment.id, outcome: 'revision_made', revision_id: now.latest_revision_id },
    ]);
    expect(now).toMatchObject({
      generation: deployment.generation + 1,
      source_config: deployment.source_config,
      source_revision_config: { ...deployment.source_revision_config, repo_commit_sha: after },
      secrets: [{ name: 'A', value: 'kept' }],
    });
    const [latest] = await revisions(to.client, deployment.id);
    expect(latest).toMatchObject({ number: 2, status: 'AWAITING_BUILD' });
    const [event] = await events(to.client, deployment.id);
    expect(event).toMatchObject({
      reason: 'CommitPushed',
      actor: { kind: 'system', name: 'webhook' },
      details: { branch: 'main', commit: after, delivery_id: 'd-1', integration_id: to.id },
    });
  });

  test('of GitLab creates a revision too, with its token and with a signing token', async () => {
    const to = await hook('gitlab');
    const deployment = await tracking(to);
    const [first, second] = [newCommit(), newCommit()];
    const uuid = { 'idempotency-key': 'k-1', 'x-gitlab-event-uuid': 'u-1' };
    const payload = gitlabPush(to.repository, newCommit(), first);
    expect(outcomes(await gitlab(to, payload, uuid))).toEqual({ [deployment.id]: 'revision_made' });
    expect((await gitlab(to, payload, uuid)).body.result).toBe('repeated');

    const text = JSON.stringify(gitlabPush(to.repository, first, second));
    const time = String(Math.floor(now.getTime() / 1000));
    const key = Buffer.from(to.secret.replace('whsec_', ''), 'base64');
    const signed = createHmac('sha256', key).update(`msg.${time}.${text}`).digest('base64');
    const headers = { 'webhook-id': 'msg', 'webhook-timestamp': time, 'webhook-signature': `v1,${signed}` };
    expect(outcomes(await post(to.id, text, headers))).toEqual({ [deployment.id]: 'revision_made' });
    expect(await read(to.client, deployment.id)).toMatchObject({
      source_revision_config: { repo_commit_sha: second },
    });
  });

  test('affects only deployments that track its branch in the same repository, integration and tenant', async () => {
    const to = await hook();
    const elsewhere = await hook('github', to.client);
    const stranger = { ...(await hook()), repository: to.repository };
    const concerned = [
      await tracking(to),
      await tracking(to, 'main'),
      await tracking(to, 'refs/heads/main'),
      await tracking(to, null, { repo_url: `${HOST}/${to.repository}.git/` }),
    ];
    const gone = await tracking(to);
    await to.client.call('DELETE', `/v2/deployments/${gone.id}`);
    const others = [
      await tracking(to, 'next'),
      await tracking(to, null, { build_on_push: false }),
      await tracking(to, null, { repo_url: `${HOST}/${to.repository}-2` }),
      await tracking({ ...elsewhere, repository: to.repository }),
      await tracking(stranger),
    ];
    const answer = await github(to, githubPush(to.repository, newCommit(), newCommit()));
    expect(outcomes(answer)).toEqual(Object.fromEntries(concerned.map(({ id }) => [id, 'revision_made'])));
    for (const { id } of others) {
      const owner = id === others.at(-1)?.id ? stranger.client : to.client;
      expect((await read(owner, id)).generation).toBe(1);
    }
    expect((await read(to.client, gone.id)).status).toBe('AWAITING_DELETE');
  });

  test.each([
    ['a ping', 'ping', () => ({ zen: 'Keep it logically awesome.', hook_id: 1 })],
    ['a tag', 'push', (name: string) => githubPush(name, NONE, newCommit(), 'refs/tags/v1')],
    ['another event', 'pull_request', (name: string) => githubPush(name, newCommit(), newCommit())],
  ])('creates no revision when the delivery is %s', async (_what, event, payload) => {
    const to = await hook();
    const { id } = await tracking(to);
    const answer = await github(to, payload(to.repository), { event });
    expect(answer).toMatchObject({ status: 200, body: { event, result: 'ignored', deployments: [] } });
    expect((await read(to.client, id)).generation).toBe(1);
  });

  test('builds nothing when the branch is deleted, and starts over when it is created again', async () => {
    const to = await hook();
    const { id } = await tracking(to);
    const [first, second] = [newCommit(), newCommit()];
    await github(to, githubPush(to.repository, first, second));
    const gone = await github(to, githubPush(to.repository, second, NONE));
    expect(outcomes(gone)).toEqual({ [id]: 'nothing_to_build' });
    expect(outcomes(await github(to, githubPush(to.repository, NONE, first)))).toEqual({
      [id]: 'revision_made',
    });
  });

  test('creates nothing for the commit that is already the latest', async () => {
    const to = await hook();
    const { id } = await tracking(to);
    const after = newCommit();
    await github(to, githubPush(to.repository, newCommit(), after));
    const again = await github(to, { ...githubPush(to.repository, newCommit(), after), forced: true });
    expect(outcomes(again)).toEqual({ [id]: 'nothing_to_build' });
    expect(await revisions(to.client, id)).toHaveLength(2);
  });

  test('changes nothing when it arrives after a newer one, but builds an older commit after a forced push', async () => {
    const to = await hook();
    const { id } = await tracking(to);
    const [one, two, three] = [newCommit(), newCommit(), newCommit()];
    await github(to, githubPush(to.repository, two, three));
    expect(outcomes(await github(to, githubPush(to.repository, one, two)))).toEqual({
      [id]: 'nothing_to_build',
    });
    expect((await read(to.client, id)).source_revision_config['repo_commit_sha']).toBe(three);
    await github(to, githubPush(to.repository, three, one));
    expect((await read(to.client, id)).source_revision_config['repo_commit_sha']).toBe(one);
  });

  test('is built last when it is the newest of 50 that arrive on two replicas in any order', async () => {
    const to = await hook();
    const { id } = await tracking(to);
    const commits = Array.from({ length: 51 }, newCommit);
    const pushes = commits.slice(1).map((after, n) => githubPush(to.repository, commits[n] ?? '', after));
    const mixed = pushes.map((payload) => ({ payload, at: randomBytes(4).readUInt32BE() }));
    mixed.sort((a, b) => a.at - b.at);
    const answers = await Promise.all(
      mixed.map(({ payload }, n) => github(to, payload, { app: n % 2 === 0 ? api.app : other })),
    );
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    const made = answers
      .flatMap(({ body }) => body.deployments)
      .filter(({ revision_id: made }) => made !== null);
    const [latest, ...rest] = await revisions(to.client, id);
    expect(latest?.source_revision_config.repo_commit_sha).toBe(commits.at(-1));
    expect(latest?.number).toBe(made.length + 1);
    expect(rest.length).toBe(made.length);
  });

  test('reaches the other deployments when it fails for one of them', async () => {
    const to = await hook();
    const [broken, fine] = [await tracking(to), await tracking(to)];
    await api.store.sql(`CREATE FUNCTION refuse_one() RETURNS trigger LANGUAGE plpgsql AS
      $$ BEGIN RAISE EXCEPTION 'no revision for %', NEW.deployment_id; END $$`);
    await api.store.sql(`CREATE TRIGGER refuse_one BEFORE INSERT ON revisions FOR EACH ROW
      WHEN (NEW.deployment_id = '${broken.id}') EXECUTE FUNCTION refuse_one()`);
    const answer = await github(to, githubPush(to.repository, newCommit(), newCommit()));
    await api.store.sql('DROP TRIGGER refuse_one ON revisions');
    expect(outcomes(answer)).toEqual({ [broken.id]: 'failed', [fine.id]: 'revision_made' });
    expect((await read(to.client, broken.id)).generation).toBe(1);
    const [event] = await events(to.client, broken.id);
    expect(event).toMatchObject({
      reason: 'PushNotBuilt',
      message: expect.stringContaining('an internal error'),
    });
    expect(JSON.stringify(answer.body) + JSON.stringify(event)).not.toContain('no revision for');
  });
});

describe('a delivery', () => {
  test('changes nothing when its id or its signed body was received before', async () => {
    const to = await hook();
    const { id } = await tracking(to);
    const payload = githubPush(to.repository, newCommit(), newCommit());
    await github(to, payload, { delivery: 'same' });
    const before = await api.rowCounts();
    const sameId = await github(to, githubPush(to.repository, newCommit(), newCommit()), {
      delivery: 'same',
    });
    const sameBody = await github(to, payload, { delivery: 'another', app: other });
    for (const { status, body } of [sameId, sameBody])
      expect({ status, body }).toEqual({
        status: 200,
        body: { event: 'push', result: 'repeated', deployments: [] },
      });
    expect(await api.rowCounts()).toEqual(before);
    expect(await revisions(to.client, id)).toHaveLength(2);
  });

  test('counts once when two replicas receive it many times at once', async () => {
    const to = await hook();
    const { id } = await tracking(to);
    const payload = githubPush(to.repository, newCommit(), newCommit());
    const answers = await Promise.all(
      Array.from({ length: 12 }, (_, n) =>
        github(to, payload, { delivery: 'once', app: n % 2 === 0 ? api.app : other }),
      ),
    );
    const results = answers.map(({ body }) => body.result).sort();
    expect(results).toEqual([...Array(11).fill('repeated'), 'taken']);
    expect(await revisions(to.client, id)).toHaveLength(2);
  });

  test('is removed after a week, and the hash of its body after 90 days', async () => {
    const to = await hook();
    await tracking(to);
    await github(to, githubPush(to.repository, newCommit(), newCommit()), { delivery: 'young' });
    await github(to, githubPush(to.repository, newCommit(), newCommit()), { delivery: 'old' });
    await api.store.sql(
      `UPDATE webhook_deliveries SET received_at = now() - interval '8 days' WHERE delivery_id = 'old' AND integration_id = $1`,
      [to.id],
    );
    await sweep(api.store);
    const left = await api.store.sql<{ delivery_id: string }>(
      `SELECT delivery_id FROM webhook_deliveries WHERE integration_id = $1 AND delivery_id NOT LIKE 'sha256:%'`,
      [to.id],
    );
    expect(left).toEqual([{ delivery_id: 'young' }]);
    // Their bodies are remembered for longer: a signature of a body has no time.
    const hashes = () =>
      api.store.sql(
        `SELECT 1 FROM webhook_deliveries WHERE integration_id = $1 AND delivery_id LIKE 'sha256:%'`,
        [to.id],
      );
    const age = (days: number) =>
      api.store.sql(
        `UPDATE webhook_deliveries SET received_at = now() - make_interval(days => $2) WHERE integration_id = $1`,
        [to.id, days],
      );
    await age(89);
    await sweep(api.store);
    expect(await hashes()).toHaveLength(2);
    await age(91);
    await sweep(api.store);
    expect(await hashes()).toHaveLength(0);
  });

  test('with a wrong secret gets the response of an unknown integration and writes nothing', async () => {
    const to = await hook();
    const { id } = await tracking(to);
    const without = await hook('github', to.client);
    await to.client.call('DELETE', `/v2/integrations/${without.id}/webhook-secret`);
    const payload = githubPush(to.repository, newCommit(), newCommit());
    const unknown = { ...to, id: '01890000-0000-7000-8000-00000000dead' };
    const before = await api.rowCounts();
    const huge = JSON.stringify({ text: 'x'.repeat(9 * 1024 * 1024) });
    for (const attempt of [
      (at: Hook) => github(at, payload, { secret: `${to.secret}x` }),
      (at: Hook) => post(at.id, JSON.stringify(payload), { 'x-github-event': 'push' }),
      (at: Hook) => post(at.id, 'no json', { 'x-hub-signature-256': 'sha256=00' }),
      (at: Hook) => post(at.id, '{}', { 'content-encoding': 'gzip' }),
      (at: Hook) => post(at.id, 'a=b', { 'content-type': 'text/plain' }),
      (at: Hook) => post(at.id, huge, {}),
      (at: Hook) => gitlab(at, payload),
    ]) {
      const shown = async (at: Hook) => {
        const { status, body, headers } = await attempt(at);
        const { 'x-request-id': _id, date: _date, ...rest } = headers;
        return { status, body, headers: rest };
      };
      const expected = await shown(unknown);
      expect([404, 413, 415]).toContain(expected.status);
      expect(await shown(to)).toEqual(expected);
      expect(await shown(without)).toEqual(expected);
      expect(await shown({ ...to, id: 'none' })).toMatchObject({ status: expected.status });
    }
    expect(await api.rowCounts()).toEqual(before);
    expect((await read(to.client, id)).generation).toBe(1);
  });

  test('is accepted as a form', async () => {
    const to = await hook();
    const { id } = await tracking(to);
    const text = new URLSearchParams({
      payload: JSON.stringify(githubPush(to.repository, newCommit(), newCommit())),
    }).toString();
    const answer = await post(to.id, text, {
      'content-type': 'application/x-www-form-urlencoded',
      'x-github-event': 'push',
      'x-hub-signature-256': signature(to.secret, text),
    });
    expect(outcomes(answer)).toEqual({ [id]: 'revision_made' });
  });

  test.each([
    ['no JSON', 'x'],
    ['a list', '[]'],
    ['a push without a commit', '{"ref":"refs/heads/main"}'],
  ])('returns 422 when it is signed but is %s', async (_what, text) => {
    const to = await hook();
    const headers = { 'x-github-event': 'push', 'x-hub-signature-256': signature(to.secret, text) };
    const answer = await post(to.id, text, headers);
    expect(answer.status).toBe(422);
    expect(JSON.stringify(answer.body.detail)).toContain('"loc":["body"');
  });

  test('is rate-limited for each integration, and a forged one does not count', async () => {
    const [to, next] = [await hook(), await hook()];
    for (let n = 0; n < 5; n += 1) await github(to, {}, { event: 'ping', secret: 'wrong', app: other });
    const statuses = [];
    for (let n = 0; n < 62; n += 1)
      statuses.push((await github(to, { n }, { event: 'ping', app: other })).status);
    expect(statuses).toEqual([...Array(60).fill(200), 429, 429]);
    expect((await github(next, {}, { event: 'ping', app: other })).status).toBe(200);
  });
});

describe('the worker of a Procfile', () => {
  const BUILT = {
    image_uri: `registry.example/app@sha256:${'d'.repeat(64)}`,
    repo_commit_sha: 'c'.repeat(40),
    procfile: { web: 'node server.js', worker: 'node worker.js' },
  };
  const setStatus = (id: string, status: string) =>
    api.store.sql(
      `UPDATE revisions SET status = $2 WHERE id = (SELECT latest_revision_id FROM deployments WHERE id = $1)`,
      [id, status],
    );

  test('counts in the quota until another commit is built, also after a failed build and a PATCH', async () => {
    const to = await hook();
    const { id } = await tracking(to, null, { resource_spec: { cpu: 1 } });
    const cpu = async () =>
      (await to.client.call<{ usage: { cpu: number } }>('GET', '/v2/usage')).body.usage.cpu;
    const patch = (body: object) => to.client.call('PATCH', `/v2/deployments/${id}`, body);
    const withoutWorker = await cpu();
    await api.store.sql(
      `WITH built AS (UPDATE revisions SET source_revision_config = source_revision_config || $2
         WHERE deployment_id = $1)
       UPDATE deployments SET source_revision_config = source_revision_config || $2, quota_cpu_m = NULL WHERE id = $1`,
      [id, JSON.stringify(BUILT)],
    );
    await setStatus(id, 'DEPLOYED');
    const withWorker = await cpu();
    expect(withWorker).toBeGreaterThan(withoutWorker);
    await github(to, githubPush(to.repository, newCommit(), newCommit()));
    expect(await cpu(), 'during a build').toBe(withWorker);
    await github(to, githubPush(to.repository, newCommit(), newCommit()));
    expect(await cpu(), 'during a second build').toBe(withWorker);
    await setStatus(id, 'BUILD_FAILED');
    expect((await patch({ source_config: { build_command: 'make' } })).status).toBe(200);
    expect(await cpu(), 'after a failed build and a PATCH').toBe(withWorker);
    await api.store.sql('UPDATE deployments SET quota_cpu_m = NULL WHERE id = $1', [id]);
    expect(await cpu(), 'measured again').toBe(withWorker);
    expect((await patch({ source_revision_config: { repo_ref: 'next' } })).status).toBe(200);
    expect(await cpu(), 'after a PATCH of the branch').toBe(withWorker);
    await api.store.sql(
      `UPDATE deployments SET source_revision_config = source_revision_config || $2, quota_cpu_m = NULL WHERE id = $1`,
      [id, JSON.stringify({ image_uri: BUILT.image_uri })],
    );
    expect(await cpu(), 'after a build without a Procfile').toBe(withoutWorker);
  });
});

describe('the secret of a webhook', () => {
  test('is shown once with the URL, and its predecessor is accepted for a day', async () => {
    const to = await hook();
    await tracking(to);
    const ping = (secret: string) =>
      github(to, { at: randomBytes(8).toString('hex') }, { event: 'ping', secret });
    const made = await secretOf(to.client, to.id);
    expect(made).toEqual({
      url: `https://berth.example.com/v2/webhooks/${to.id}`,
      secret: expect.stringMatching(/^whsec_[A-Za-z0-9+/]{43}=$/),
      former_valid_until: new Date(now.getTime() + 86_400_000).toISOString(),
    });
    expect([(await ping(to.secret)).status, (await ping(made.secret)).status]).toEqual([200, 200]);
    const start = now;
    now = new Date(start.getTime() + 86_400_001);
    expect([(await ping(to.secret)).status, (await ping(made.secret)).status]).toEqual([404, 200]);
    now = start;
    const url = `/v2/integrations/${to.id}`;
    expect((await to.client.call('GET', url)).body).toMatchObject({ takes_webhooks: true });
    expect((await to.client.call('DELETE', `${url}/webhook-secret`)).status).toBe(204);
    expect((await to.client.call('DELETE', `${url}/webhook-secret`)).status).toBe(204);
    expect((await ping(made.secret)).status).toBe(404);
    expect((await to.client.call('GET', url)).body).toMatchObject({ takes_webhooks: false });
    expect(await secretOf(to.client, to.id)).toMatchObject({ former_valid_until: null });
  });

  test('is in no row, log line, event or other response', async () => {
    const to = await hook('gitlab');
    await tracking(to);
    const answers = [
      await gitlab(to, gitlabPush(to.repository, newCommit(), newCommit())),
      await gitlab(to, { secret: to.secret }),
      await to.client.call('GET', `/v2/integrations/${to.id}`),
    ];
    expect(JSON.stringify(answers.map(({ body }) => body))).not.toContain(to.secret);
    const bare = Buffer.from(to.secret.slice(6), 'base64').toString('hex');
    for (const table of ['integrations', 'events', 'webhook_deliveries', 'deployments']) {
      const rows = await api.store.sql<{ text: string }>(`SELECT t::text AS text FROM ${table} t`);
      expect(rows.length).toBeGreaterThan(0);
      const text = JSON.stringify(rows);
      expect(text.includes(to.secret) || text.includes(bare), table).toBe(false);
    }
    expect(JSON.stringify(api.store.logger.lines)).not.toContain(to.secret);
  });

  test('leads to 404 and a log line when its encryption key is lost, until it is replaced', async () => {
    const to = await hook();
    await api.store.sql(`UPDATE integrations SET webhook_key_id = 'gone' WHERE id = $1`, [to.id]);
    expect((await github(to, {}, { event: 'ping' })).status).toBe(404);
    expect(api.store.logger.lines.some(({ message }) => message.includes('secret of a webhook'))).toBe(true);
    const { secret } = await secretOf(to.client, to.id);
    expect((await github(to, {}, { event: 'ping', secret })).status).toBe(200);
  });
});
