/** Integrations: tokens go in and never come out, deployments hold them, and the git host is asked with care. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { createGitHost } from '../../../../src/hub/git-host/git-host.ts';
import { lockIntegration, openIntegration } from '../../../../src/hub/store/builds/integrations.ts';
import {
  type ApiFixture,
  type Client,
  create,
  createBody,
  type Issue,
  startApi,
  uniqueName,
} from '../../harness/api.ts';
import { type GitServer, HOST_TEXT, startGitServer } from '../../harness/git-server.ts';

const TOKEN = 'glpat-canary-5f1e';
const UNKNOWN = '01890000-0000-7000-8000-00000000dead';
const COUNT = 7;

interface Integration {
  id: string;
  name: string;
  provider: string;
  host_url: string;
  created_at: string;
  updated_at: string;
}
interface Repositories {
  resources: {
    full_name: string;
    repo_url: string;
    default_branch: string | null;
    private: boolean | null;
  }[];
  offset: number;
  detail: unknown;
}

let api: ApiFixture;
/** As `api`, but private hosts may be called, and the git server's authority is trusted. */
let trusting: ApiFixture;
let git: GitServer;
let client: Client;

beforeAll(async () => {
  git = await startGitServer({ token: TOKEN, count: COUNT });
  api = await startApi({ hosting: 'cloud' });
  trusting = await startApi({
    hosting: 'cloud',
    deps: { gitHost: createGitHost({ allowPrivate: true, ca: git.ca, deadlineMs: 60_000 }) },
  });
  client = await api.tenant();
});
afterAll(async () => {
  await api?.stop();
  await trusting?.stop();
  await git?.stop();
});

const body = (more: object = {}) => ({
  name: uniqueName('git'),
  provider: 'gitlab',
  host_url: 'https://git.example.com',
  token: TOKEN,
  ...more,
});

async function made(by: Client = client, more: object = {}): Promise<Integration> {
  const answer = await by.call<Integration>('POST', '/v2/integrations', body(more));
  expect(answer.status, JSON.stringify(answer.body)).toBe(201);
  return answer.body;
}

const gitDeployment = (id: string, more: object = {}) =>
  createBody({
    source: 'git_host',
    source_config: { repo_url: 'https://git.example.com/shop/web.git', integration_id: id, ...more },
    source_revision_config: { workflow_config_path: 'app.yaml' },
  });

const reasonsOf = async (of: ApiFixture, tenantId: string) =>
  (
    await of.store.sql<{ reason: string; actor_kind: string }>(
      `SELECT reason, actor_kind FROM events WHERE tenant_id = $1 AND reason LIKE 'Integration%' ORDER BY id`,
      [tenantId],
    )
  ).map(({ reason, actor_kind: kind }) => `${kind} ${reason}`);

describe('/v2/integrations', () => {
  test('creates, reads, changes and deletes an integration, and records each write with its actor', async () => {
    const own = await api.tenant();
    const integration = await made(own, { host_url: 'https://Git.Example.com/gitlab/' });
    expect(integration).toEqual({
      id: expect.any(String),
      tenant_id: own.tenantId,
      name: integration.name,
      provider: 'gitlab',
      host_url: 'https://git.example.com/gitlab',
      takes_webhooks: false,
      created_at: expect.any(String),
      updated_at: integration.created_at,
    });
    const url = `/v2/integrations/${integration.id}`;
    expect((await own.call('GET', url)).body).toEqual(integration);
    expect((await own.call('GET', '/v2/integrations')).body).toEqual({ resources: [integration], offset: 1 });

    const renamed = await own.call<Integration>('PATCH', url, { name: 'another' });
    expect(renamed.body).toMatchObject({ name: 'another', id: integration.id });
    const [before] = await api.store.sql<{ sealed: Buffer }>(
      'SELECT sealed FROM integrations WHERE id = $1',
      [integration.id],
    );
    expect((await own.call('PATCH', url, { token: 'second' })).status).toBe(200);
    const opened = await api.store.database
      .forTenant(own.tenantId)
      .read((reader) => openIntegration(reader, api.store.box, own.tenantId, integration.id));
    expect(opened?.token).toBe('second');
    expect(before?.sealed.includes(TOKEN)).toBe(false);
    // Without a difference, nothing changes and no event is recorded.
    const same = await own.call<Integration>('PATCH', url, { name: 'another' });
    expect(same.body.updated_at).toBe((await own.call<Integration>('GET', url)).body.updated_at);

    expect((await own.call('DELETE', url)).status).toBe(204);
    expect((await own.call('DELETE', url)).status).toBe(404);
    expect((await own.call('GET', url)).status).toBe(404);
    expect(await reasonsOf(api, own.tenantId)).toEqual([
      'api_key IntegrationCreated',
      'api_key IntegrationChanged',
      'api_key IntegrationChanged',
      'api_key IntegrationDeleted',
    ]);
  });

  test('returns 409 for a name that is taken in the same tenant', async () => {
    const { name } = await made();
    expect((await client.call('POST', '/v2/integrations', body({ name }))).status).toBe(409);
    const other = await made();
    expect((await client.call('PATCH', `/v2/integrations/${other.id}`, { name })).status).toBe(409);
    await made(await api.tenant(), { name });
  });

  test.each([
    ['http', { host_url: 'http://git.example.com' }, 422],
    ['a password in it', { host_url: 'https://u:p@git.example.com' }, 422],
    ['a query', { host_url: 'https://git.example.com/?a=1' }, 422],
    ['loopback', { host_url: 'https://127.0.0.1' }, 400],
    ['loopback in disguise', { host_url: 'https://0x7f.1' }, 400],
    ['the metadata address', { host_url: 'https://169.254.169.254' }, 400],
    ['a mapped address', { host_url: 'https://[::ffff:10.0.0.1]' }, 400],
    ['a name of the cluster', { host_url: 'https://git.default.svc' }, 400],
    ['localhost', { host_url: 'https://localhost' }, 400],
    ['an unknown provider', { provider: 'bitbucket' }, 422],
    ['a token that breaks a header', { token: 'a\r\nX-Evil: 1' }, 422],
    ['an empty token', { token: '' }, 422],
    ['an unknown field', { key: 'x' }, 422],
  ])('rejects %s and writes nothing', async (_what, more, status) => {
    const before = await api.rowCounts();
    const answer = await client.call<{ detail: Issue[] }>('POST', '/v2/integrations', body(more));
    expect(answer.status).toBe(status);
    expect(answer.body.detail[0]?.loc).toEqual(['body', Object.keys(more)[0]]);
    expect(await api.rowCounts()).toEqual(before);
  });

  test('returns 422 for a change of provider or host_url', async () => {
    const { id } = await made();
    for (const change of [{ host_url: 'https://evil.example.com' }, { provider: 'github' }]) {
      expect((await client.call('PATCH', `/v2/integrations/${id}`, change)).status).toBe(422);
    }
  });

  test('shows the token in no response, log line or event', async () => {
    const own = await api.tenant();
    const integration = await made(own);
    const url = `/v2/integrations/${integration.id}`;
    const answers = [
      await own.call('GET', url),
      await own.call('GET', '/v2/integrations'),
      await own.call('PATCH', url, { token: TOKEN }),
      await own.call('POST', '/v2/integrations', { ...body(), provider: 'x' }),
      await own.call('GET', `${url}/repos`),
    ];
    expect(JSON.stringify(answers.map(({ body: each }) => each))).not.toContain(TOKEN);
    expect(JSON.stringify(api.store.logger.lines)).not.toContain(TOKEN);
    const [{ text } = { text: '' }] = await api.store.sql<{ text: string }>(
      `SELECT string_agg(to_jsonb(e)::text, '') AS text FROM events e`,
    );
    expect(text).toContain('Integration');
    expect(text).not.toContain(TOKEN);
  });
});

describe('a deployment with an integration', () => {
  test('can name only an integration of its own tenant', async () => {
    const { id } = await made();
    const answer = await client.call<{ id: string; source_config: object }>(
      'POST',
      '/v2/deployments',
      gitDeployment(id),
    );
    expect(answer.status).toBe(201);
    expect(answer.body.source_config).toMatchObject({ integration_id: id });
    const stranger = await api.tenant();
    for (const [by, unknown] of [
      [client, UNKNOWN],
      [stranger, id],
    ] as const) {
      for (const query of ['', '?dry_run=true']) {
        const refused = await by.call<{ detail: Issue[] }>(
          'POST',
          `/v2/deployments${query}`,
          gitDeployment(unknown),
        );
        expect(refused.status).toBe(400);
        expect(refused.body.detail).toMatchObject([
          { loc: ['body', 'source_config', 'integration_id'], type: 'integration_unknown' },
        ]);
      }
    }
  });

  test('can use only a repository on the host of the integration', async () => {
    const { id } = await made(client, { host_url: 'https://git.example.com/gitlab' });
    for (const repo_url of [
      'https://evil.example.com/gitlab/a',
      'https://git.example.com:8443/gitlab/a',
      'https://git.example.com/gitlab-evil/a',
      'https://git.example.com/gitlab/../a',
    ]) {
      const refused = await client.call<{ detail: Issue[] }>(
        'POST',
        '/v2/deployments',
        gitDeployment(id, { repo_url }),
      );
      expect(refused.body.detail, repo_url).toMatchObject([
        { loc: ['body', 'source_config', 'repo_url'], type: 'integration_other_host' },
      ]);
    }
    const repo_url = 'https://git.example.com/gitlab/shop/web';
    expect((await client.call('POST', '/v2/deployments', gitDeployment(id, { repo_url }))).status).toBe(201);
  });

  test('blocks the deletion of the integration until it is deleted itself', async () => {
    const { id } = await made();
    const url = `/v2/integrations/${id}`;
    const deployment = await create(client, gitDeployment(id));
    const refused = await client.call<{ detail: string }>('DELETE', url);
    expect(refused.status).toBe(409);
    expect(refused.body.detail).toBe('The integration is named by 1 deployment.');
    expect((await client.call('DELETE', `/v2/deployments/${deployment.id}`)).status).toBe(204);
    expect((await client.call('DELETE', url)).status).toBe(204);
  });

  test('blocks the deletion of the integration while it can still be restored', async () => {
    const { id } = await made();
    const deployment = await create(client, gitDeployment(id));
    await client.call('DELETE', `/v2/deployments/${deployment.id}`);
    await api.store.sql(`UPDATE deployments SET purge_after = now() + interval '1 hour' WHERE id = $1`, [
      deployment.id,
    ]);
    expect((await client.call('DELETE', `/v2/integrations/${id}`)).status).toBe(409);
    await api.store.sql('UPDATE deployments SET purge_after = now() WHERE id = $1', [deployment.id]);
    expect((await client.call('DELETE', `/v2/integrations/${id}`)).status).toBe(204);
  });

  test('blocks a deletion of the integration that had to wait for the write of the deployment', async () => {
    const { id } = await made();
    const deployment = await create(client, gitDeployment((await made()).id));
    const waiting = async () =>
      (
        await api.store.sql<{ n: number }>(
          `SELECT count(*)::int AS n FROM pg_stat_activity
           WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%integrations%'`,
        )
      )[0]?.n;
    const deletion = await api.store.database.forTenant(client.tenantId).transaction(async (transaction) => {
      expect(await lockIntegration(transaction, client.tenantId, id)).not.toBeNull();
      const asked = client.call('DELETE', `/v2/integrations/${id}`);
      await expect.poll(waiting, { timeout: 30_000 }).toBe(1);
      await transaction.query(
        `UPDATE deployments SET source_config = source_config || jsonb_build_object('integration_id', $2::text) WHERE id = $1`,
        [deployment.id, id],
      );
      // Not awaited here: it waits for this transaction.
      return { asked };
    });
    expect((await deletion.asked).status).toBe(409);
  });

  test('never names a deleted integration when its creation and that deletion run at once', async () => {
    const outcomes = new Set<string>();
    for (let round = 0; round < 12; round += 1) {
      const { id } = await made();
      const [deletion, ...creations] = await Promise.all([
        client.call('DELETE', `/v2/integrations/${id}`),
        ...[1, 2, 3].map(() => client.call('POST', '/v2/deployments', gitDeployment(id))),
      ]);
      const gone = deletion.status === 204;
      const used = creations.some(({ status }) => status === 201);
      expect([204, 409]).toContain(deletion.status);
      expect(gone && used, `round ${round}`).toBe(false);
      outcomes.add(gone ? 'deleted' : 'used');
    }
    const [dangling] = await api.store.sql<{ n: number }>(
      `SELECT count(*)::int AS n FROM deployments d WHERE source_config ->> 'integration_id' IS NOT NULL
       AND delete_requested_at IS NULL
       AND NOT EXISTS (SELECT 1 FROM integrations i WHERE i.id::text = d.source_config ->> 'integration_id')`,
    );
    expect(dangling?.n).toBe(0);
    expect(outcomes.size).toBeGreaterThan(0);
  });
});

describe('GET …/repos', () => {
  let own: Client;
  beforeAll(async () => {
    own = await trusting.tenant();
  });
  afterEach(() => {
    git.reply = { kind: 'repositories' };
  });

  const listed = async (more: object, query = '') => {
    const { id } = await made(own, { host_url: git.url, ...more });
    return own.call<Repositories>('GET', `/v2/integrations/${id}/repos${query}`);
  };

  test.each(['github', 'gitlab'])('lists the repositories of %s page by page', async (provider) => {
    const whole = await listed({ provider });
    expect(whole.status).toBe(200);
    expect(whole.body.offset).toBe(COUNT);
    expect(whole.body.resources).toHaveLength(COUNT);
    expect(whole.body.resources[0]).toEqual({
      full_name: 'team/app-000',
      repo_url: 'https://git.example.com/team/app-000.git',
      default_branch: null,
      private: provider === 'gitlab',
    });
    const names = whole.body.resources.map(({ full_name: name }) => name);
    for (const [limit, offset] of [
      [3, 0],
      [3, 3],
      [3, 6],
      [3, 2],
      [2, 5],
      [4, 6],
      [5, 100],
    ] as const) {
      const page = await listed({ provider }, `?limit=${limit}&offset=${offset}`);
      expect(
        page.body.resources.map(({ full_name: name }) => name),
        `${limit} after ${offset}`,
      ).toEqual(names.slice(offset, offset + limit));
    }
  });

  test('calls the API below the path of the host URL', async () => {
    await listed({ host_url: `${git.url}/gitlab/` });
    expect(git.requests.at(-1)).toMatch(/^\/gitlab\/api\/v4\/projects\?/);
  });

  test('rejects the provider git with 400 and the reason, without a call', async () => {
    const before = git.requests.length;
    const answer = await listed({ provider: 'git' });
    expect(answer.status).toBe(400);
    expect(answer.body.detail).toMatchObject([
      { loc: ['path', 'integration_id'], type: 'provider_without_list' },
    ]);
    expect(git.requests.length).toBe(before);
  });

  test('returns 502 without text of the host for a wrong token, a limit, an error, a redirect or an invalid body', async () => {
    const told = new Set<unknown>();
    const replies: GitServer['reply'][] = [
      { kind: 'status', status: 401 },
      { kind: 'status', status: 429 },
      { kind: 'status', status: 403, headers: { 'x-ratelimit-remaining': '0' } },
      { kind: 'status', status: 500 },
      { kind: 'status', status: 302, headers: { location: `${git.url}/stolen` } },
      { kind: 'text', text: `<html>${HOST_TEXT}</html>` },
      { kind: 'text', text: JSON.stringify([{ secret: HOST_TEXT }]) },
      { kind: 'text', text: JSON.stringify({ message: HOST_TEXT }) },
    ];
    for (const reply of replies) {
      git.reply = reply;
      const answer = await listed({});
      expect(answer.status, JSON.stringify(reply)).toBe(502);
      expect(JSON.stringify(answer.body)).not.toContain(HOST_TEXT);
      told.add(answer.body.detail);
    }
    expect(told.size).toBe(4);
    expect(git.requests).not.toContain('/stolen');
    expect(JSON.stringify(trusting.store.logger.lines)).not.toContain(HOST_TEXT);
    expect(JSON.stringify(trusting.store.logger.lines)).not.toContain(TOKEN);
  });

  test('returns 502 for a host with an untrusted certificate, and for a missing host', async () => {
    const { port } = git;
    const strict = createGitHost({ allowPrivate: true });
    const access = { provider: 'gitlab', hostUrl: git.url, token: TOKEN } as const;
    const page = { limit: 1, offset: 0 };
    const before = git.requests.length;
    await expect(strict.listRepositories(access, page)).rejects.toMatchObject({ failure: 'unavailable' });
    expect(git.requests.length).toBe(before);
    expect((await listed({ host_url: 'https://127.0.0.1:1' })).status).toBe(502);
    expect((await listed({ host_url: `https://localhost:${port}` })).status).toBe(200);
  });
});

describe('the client of git hosts', () => {
  const page = { limit: 1, offset: 0 };
  const at = (hostUrl: string) => ({ provider: 'gitlab', hostUrl, token: TOKEN }) as const;
  afterEach(() => {
    git.reply = { kind: 'repositories' };
  });

  test('stops at its deadline, and the API returns 504', async () => {
    git.reply = { kind: 'silence' };
    const gitHost = createGitHost({ allowPrivate: true, ca: git.ca, deadlineMs: 200 });
    await expect(gitHost.listRepositories(at(git.url), page)).rejects.toMatchObject({ failure: 'timeout' });
    const impatient = await startApi({ hosting: 'cloud', deps: { gitHost } });
    try {
      const own = await impatient.tenant();
      const { id } = await made(own, { host_url: git.url });
      expect((await own.call('GET', `/v2/integrations/${id}/repos`)).status).toBe(504);
    } finally {
      await impatient.stop();
    }
  });

  test('stops reading at its size limit', async () => {
    git.reply = { kind: 'text', text: JSON.stringify(['x'.repeat(100_000)]) };
    const gitHost = createGitHost({ allowPrivate: true, ca: git.ca, maxBytes: 10_000 });
    await expect(gitHost.listRepositories(at(git.url), page)).rejects.toMatchObject({
      failure: 'unreadable',
      message: expect.stringContaining('10000'),
    });
  });

  test('rejects a private address, whether it is given directly or resolved from a name', async () => {
    const gitHost = createGitHost({ allowPrivate: false, closedNetworks: ['52.0.0.0/16'], ca: git.ca });
    const before = git.requests.length;
    for (const host of [
      `127.0.0.1:${git.port}`,
      `localhost:${git.port}`,
      '[::1]',
      '10.0.0.1',
      '[fe80::1]',
      '52.0.1.2',
    ]) {
      await expect(gitHost.listRepositories(at(`https://${host}`), page), host).rejects.toMatchObject({
        failure: 'private_address',
      });
    }
    expect(git.requests.length).toBe(before);
  });
});
