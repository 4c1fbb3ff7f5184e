/** port, commands and env of source_revision_config: sent, read back, changed, rejected and rolled back. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ApplyWork } from '../../../../src/contract/protocol/work-protocol.ts';
import type { RenderConfig } from '../../../../src/contract/render/render-config.ts';
import { PLATFORM_LISTENER_ID } from '../../../../src/domain/deployment/source.ts';
import { resolvePolicy } from '../../../../src/domain/policy/policy.ts';
import {
  type ApiFixture,
  type Client,
  create,
  createBody,
  type Deployment,
  type Issue,
  startApi,
  uniqueName,
} from '../../harness/api.ts';

const rendering: RenderConfig = {
  hosting: 'self_hosted',
  podSecurity: 'baseline',
  databaseImage: 'docker.io/library/postgres:18',
  cacheImage: 'docker.io/valkey/valkey:8',
  healthPath: null,
  progressDeadlineSeconds: 600,
  routing: { mode: 'none', className: null, tlsIssuer: null },
  otlpEndpoint: null,
  networkIsolation: false,
  storageClass: null,
  kubernetesVersion: '1.36',
};

interface DryRun extends Deployment {
  changes: { field: string; before: unknown; after: unknown }[];
  manifests: { kind: string; metadata: { name: string }; spec?: unknown }[] | null;
  new_revision: boolean;
  pods_roll: boolean;
  effects: string[];
  detail?: Issue[];
}

const IMAGE = { image_uri: 'registry.example.com/shop/web:1.0.0' };
const UNSET = { repo_ref: null, workflow_config_path: null, ...IMAGE, repo_commit_sha: null };
const SETTINGS = {
  port: 80,
  commands: { api: { args: ['web'] }, queue: { command: ['/bin/sh', '-c'], args: ['exec work'] } },
  env: [
    { name: 'DATABASE_URL', value: '$(DATABASE_URI)' },
    { name: 'LOG_LEVEL', value: 'debug' },
  ],
};

let api: ApiFixture;
let client: Client;
beforeAll(async () => {
  api = await startApi();
  client = await api.tenant();
});
afterAll(() => api.stop());

const withSettings = (settings: object, more: object = {}) => ({
  source_revision_config: { ...IMAGE, ...settings },
  ...more,
});
const read = async (id: string) => (await client.call<Deployment>('GET', `/v2/deployments/${id}`)).body;
const patch = (id: string, config: object, query = '') =>
  client.call<DryRun>('PATCH', `/v2/deployments/${id}${query}`, { source_revision_config: config });
const put = (name: string, body: object, query = '') =>
  client.call<DryRun>('PUT', `/v2/deployments/by-name/${name}${query}`, body);
const issuesOf = ({ detail = [] }: DryRun) => detail.map(({ loc }) => loc.join('.'));

describe('responses', () => {
  test('omit fields that are not set, so that earlier clients see no difference', async () => {
    const made = await create(client, withSettings({ port: null, commands: null, env: null }));
    for (const shown of [made, await read(made.id)]) expect(shown.source_revision_config).toEqual(UNSET);
    const revision = await client.call<{ source_revision_config: object }>(
      'GET',
      `/v2/deployments/${made.id}/revisions/${made.latest_revision_id}`,
    );
    expect(revision.body.source_revision_config).toEqual(UNSET);
    const [row] = await api.store.sql<{ config: object }>(
      'SELECT source_revision_config AS config FROM deployments WHERE id = $1',
      [made.id],
    );
    expect(Object.keys(row?.config ?? {}).sort()).toEqual(Object.keys(UNSET).sort());
  });

  test('show what was sent, in the deployment, in a list and in its revision', async () => {
    const made = await create(client, withSettings(SETTINGS));
    const list = await client.call<{ resources: Deployment[] }>('GET', `/v2/deployments?name=${made.name}`);
    const revisions = await client.call<{ resources: Deployment[] }>(
      'GET',
      `/v2/deployments/${made.id}/revisions`,
    );
    for (const shown of [made, await read(made.id), list.body.resources[0], revisions.body.resources[0]])
      expect(shown?.source_revision_config).toEqual({ ...UNSET, ...SETTINGS });
  });

  test('can be sent back by PATCH and PUT without a change', async () => {
    const made = await create(client, withSettings(SETTINGS));
    const { source, source_config, source_revision_config } = made;
    expect((await patch(made.id, source_revision_config)).body.generation).toBe(1);
    const sent = { source, source_config, source_revision_config };
    expect((await put(made.name, sent)).body.generation).toBe(1);
  });
});

describe('a change', () => {
  test.each([
    ['port', { port: 8080 }],
    ['port, when it is cleared', { port: null }],
    ['commands', { commands: { api: { args: ['other'] } } }],
    ['env', { env: [] }],
  ])('creates a revision and replaces pods: %s', async (_field, config) => {
    const made = await create(client, withSettings(SETTINGS));
    const before = await api.rowCounts();
    const dry = await patch(made.id, config, '?dry_run=true');
    expect(dry.body).toMatchObject({ new_revision: true, pods_roll: true });
    expect(await api.rowCounts()).toEqual(before);
    const changed = await patch(made.id, config);
    expect(changed.body.latest_revision_id).not.toBe(made.latest_revision_id);
    expect(changed.body.source_revision_config).toEqual(dry.body.source_revision_config);
    expect((await patch(made.id, config)).body.generation).toBe(2);
  });

  test('of source_config alone keeps the run settings and creates no revision', async () => {
    const made = await create(client, withSettings(SETTINGS));
    const body = { source_config: { resource_spec: { cpu: 2 } } };
    const changed = await client.call<Deployment>('PATCH', `/v2/deployments/${made.id}`, body);
    expect(changed.body.latest_revision_id).toBe(made.latest_revision_id);
    expect(changed.body.source_revision_config).toEqual({ ...UNSET, ...SETTINGS });
  });

  test('is shown by a dry run field by field, with the values of variables', async () => {
    const made = await create(client, withSettings(SETTINGS));
    const config = {
      port: null,
      commands: { queue: null, executor: { args: ['run'] } },
      env: [{ name: 'LOG_LEVEL', value: 'info' }],
    };
    const { changes } = (await patch(made.id, config, '?dry_run=true')).body;
    expect(changes).toEqual([
      { field: 'source_revision_config.port', before: 80, after: null },
      { field: 'source_revision_config.commands.queue', before: SETTINGS.commands.queue, after: null },
      { field: 'source_revision_config.commands.executor', before: null, after: { args: ['run'] } },
      { field: 'source_revision_config.env.DATABASE_URL', before: '$(DATABASE_URI)', after: null },
      { field: 'source_revision_config.env.LOG_LEVEL', before: 'debug', after: 'info' },
    ]);
    const reversed = (await patch(made.id, { env: SETTINGS.env.toReversed() }, '?dry_run=true')).body;
    expect(reversed.changes.map(({ field }) => field)).toEqual(['source_revision_config.env']);
    expect(reversed.new_revision).toBe(true);
  });

  test('by PUT clears the fields that are absent', async () => {
    const made = await create(client, withSettings(SETTINGS));
    const changed = await put(made.name, {
      source: made.source,
      source_config: {},
      ...withSettings({ port: 1 }),
    });
    expect(changed.body.source_revision_config).toEqual({ ...UNSET, port: 1 });
  });

  test('by PUT creates a deployment', async () => {
    const name = uniqueName();
    const made = await put(name, { source: 'external_image', source_config: {}, ...withSettings(SETTINGS) });
    expect(made).toMatchObject({ status: 201, body: { source_revision_config: { ...UNSET, ...SETTINGS } } });
  });

  test('is in the history with one path for all variables, and without their values', async () => {
    const made = await create(client, withSettings({}));
    const env = Array.from({ length: 200 }, (_, n) => ({ name: `V${n}`, value: 'canary-env' }));
    await patch(made.id, { env });
    const events = await client.call<{ resources: { message: string }[] }>(
      'GET',
      `/v2/deployments/${made.id}/events`,
    );
    const messages = events.body.resources.map(({ message }) => message);
    expect(messages).toContain('Changed: source_revision_config.env.');
    expect(JSON.stringify(events.body)).not.toContain('canary-env');
  });
});

describe('a repeated revision', () => {
  test.each(['redeploy', 'rollback'])('restores the run settings: %s', async (how) => {
    const made = await create(client, withSettings(SETTINGS));
    await patch(made.id, { port: null, commands: null, env: [{ name: 'OTHER', value: '1' }] });
    const url = `/v2/deployments/${made.id}/revisions/${made.latest_revision_id}/${how}`;
    const again = await client.call<{ source_revision_config: object }>('POST', url);
    expect(again.status).toBe(201);
    expect(again.body.source_revision_config).toMatchObject(SETTINGS);
    expect((await read(made.id)).source_revision_config).toEqual({ ...UNSET, ...SETTINGS });
  });

  test('restores secrets together with env, so that no name is in both', async () => {
    const value = 'v';
    const made = await create(client, withSettings({ env: [{ name: 'A', value }] }));
    const both = { source_revision_config: { env: null }, secrets: [{ name: 'A', value }] };
    expect((await client.call('PATCH', `/v2/deployments/${made.id}`, both)).status).toBe(200);
    const url = `/v2/deployments/${made.id}/revisions/${made.latest_revision_id}/rollback`;
    expect((await client.call('POST', url)).status).toBe(201);
    expect(await read(made.id)).toMatchObject({
      secrets: [],
      source_revision_config: { env: [{ name: 'A', value }] },
    });
  });
});

describe('names of variables', () => {
  const A = { name: 'A', value: '1' };
  const shared = 'body.source_revision_config.env.0.name';

  test('cannot be names of secrets in a POST, a PUT, or a PATCH of either list', async () => {
    const body = createBody({ ...withSettings({ env: [A] }), secrets: [A] });
    const post = await client.call<DryRun>('POST', '/v2/deployments', body);
    const created = await put(uniqueName(), { ...body, name: undefined });
    const withSecret = await create(client, { secrets: [A] });
    const withVariable = await create(client, withSettings({ env: [A] }));
    const env = await patch(withSecret.id, { env: [A] });
    for (const answer of [post, created, env]) {
      expect(answer.status).toBe(400);
      expect(issuesOf(answer.body)).toEqual([shared]);
    }
    const url = `/v2/deployments/${withVariable.id}`;
    const secrets = await client.call<DryRun>('PATCH', url, { secrets: [{ name: 'B', value: '' }, A] });
    expect(issuesOf(secrets.body)).toEqual(['body.secrets.1.name']);
    const single = await client.call<DryRun>('PATCH', `${url}/secrets`, { set: [A] });
    expect(single.status).toBe(400);
    expect(issuesOf(single.body)).toEqual(['body.set']);
  });

  test('can move from secrets to env in one request', async () => {
    const made = await create(client, { secrets: [A] });
    const body = { source_revision_config: { env: [A] }, secrets: [] };
    const moved = await client.call<Deployment>('PATCH', `/v2/deployments/${made.id}`, body);
    expect(moved.body).toMatchObject({ secrets: [], source_revision_config: { env: [A] } });
  });

  test.each(['PORT', 'DATABASE_URI', 'REVISION_ID'])('cannot be reserved: %s', async (name) => {
    const answer = await client.call<DryRun>(
      'POST',
      '/v2/deployments',
      createBody(withSettings({ env: [{ name, value: '1' }] })),
    );
    expect(answer.status).toBe(422);
    expect(issuesOf(answer.body)).toEqual([shared]);
  });

  test('configure external data services, which need no quota', async () => {
    const env = [
      { name: 'DATABASE_URI_CUSTOM', value: 'postgresql://db.example.com/shop' },
      { name: 'CACHE_URI_CUSTOM', value: 'redis://cache.example.com' },
    ];
    const made = await create(client, withSettings({ env }));
    const [row] = await api.store.sql<{ cpu: number; storage: number }>(
      'SELECT quota_cpu_m::int AS cpu, quota_storage_gi::int AS storage FROM deployments WHERE id = $1',
      [made.id],
    );
    expect(row).toEqual({ cpu: 1000, storage: 0 });
  });
});

describe('a command of another component', () => {
  test('creates the component with default sizes, which count in quota and connections', async () => {
    const spec = { cpu: 0.5, min_scale: 2, max_scale: 4 };
    const commands = { queue: { args: ['q'] }, executor: { args: ['e'] } };
    const made = await create(client, {
      source_config: { resource_spec: spec },
      ...withSettings({ commands }),
    });
    const declared = await create(client, {
      source_config: { resource_spec: { ...spec, queue_cpu: 0.5, executor_cpu: 1 } },
    });
    expect(made.effective_resource_spec).toEqual(declared.effective_resource_spec);
    expect(made.source_config.resource_spec).toMatchObject({ queue_cpu: null, executor_cpu: null });
    const usage = await api.store.sql<{ cpu: string; memory: string }>(
      'SELECT quota_cpu_m AS cpu, quota_memory_mb AS memory FROM deployments WHERE id = ANY($1)',
      [[made.id, declared.id]],
    );
    expect(usage[0]).toEqual(usage[1]);
  });

  test('disappears with its component in a rollback to a revision without the command', async () => {
    const made = await create(client, withSettings({}));
    const added = await patch(made.id, { commands: { orchestrator: { args: ['o'] } } });
    expect(added.body.effective_resource_spec['orchestrator_cpu']).toBe(1);
    const url = `/v2/deployments/${made.id}/revisions/${made.latest_revision_id}/rollback`;
    await client.call('POST', url);
    expect((await read(made.id)).effective_resource_spec['orchestrator_cpu']).toBeNull();
  });

  test('is rejected when the database has too few connections for the component', async () => {
    const spec = { max_scale: 100, db_max_connections: 136 };
    const made = await create(client, { source_config: { resource_spec: spec } });
    const answer = await patch(made.id, { commands: { queue: { args: ['q'] } } });
    expect(answer.status).toBe(400);
    expect(issuesOf(answer.body)).toEqual(['body.source_config.resource_spec.db_max_connections']);
  });

  test('restarts the database when it needs more connections, which the response says', async () => {
    const made = await create(client, { source_config: { resource_spec: { max_scale: 70 } } });
    const dry = await patch(made.id, { commands: { queue: { args: ['q'] } } }, '?dry_run=true');
    expect(dry.body.effects).toEqual([expect.stringContaining('The database restarts')]);
  });
});

describe('the policy', () => {
  test('limits the variables, but not a list that does not grow', async () => {
    const caps = { env_count: 2, env_bytes: 30 };
    const narrow = await startApi({
      deps: { policy: resolvePolicy('self_hosted', { caps }) },
      store: api.store,
    });
    try {
      const call = async (method: 'POST' | 'PATCH', url: string, body: object) => {
        const headers = { 'x-api-key': client.key, 'content-type': 'application/json' };
        const response = await narrow.app.inject({ method, url, headers, payload: JSON.stringify(body) });
        return { status: response.statusCode, body: response.json() as DryRun };
      };
      const variables = (count: number, value: string) =>
        Array.from({ length: count }, (_, n) => ({ name: `V${n}`, value }));
      for (const env of [variables(3, ''), variables(1, 'x'.repeat(30))]) {
        const answer = await call('POST', '/v2/deployments', createBody(withSettings({ env })));
        expect(answer.status).toBe(400);
        expect(issuesOf(answer.body)).toEqual(['body.source_revision_config.env']);
      }
      const stored = await create(client, withSettings({ env: variables(4, 'old') }));
      const url = `/v2/deployments/${stored.id}`;
      const changed = (env: object[]) => call('PATCH', url, { source_revision_config: { env } });
      expect((await changed(variables(4, 'new'))).status).toBe(200);
      expect((await changed(variables(5, 'new'))).status).toBe(400);
    } finally {
      await narrow.stop();
    }
  });

  test('limits sizes of components that commands create', async () => {
    const deps = { policy: resolvePolicy('self_hosted', { tenant_quotas: { cpu: 3 } }) };
    const small = await startApi({ deps, store: api.store });
    try {
      const tenant = await small.tenant();
      const made = await create(tenant, withSettings({}));
      const body = { source_revision_config: { commands: { queue: { args: ['q'] } } } };
      const answer = await tenant.call<DryRun>('PATCH', `/v2/deployments/${made.id}`, body);
      expect(answer).toMatchObject({ status: 400, body: { detail: [{ type: 'quota_cpu' }] } });
    } finally {
      await small.stop();
    }
  });
});

describe('with a listener', () => {
  const lease = { holder: 'test', version: '1', cluster_version: 'v1.36.0', rendering, epoch: null };
  let platform: Client;
  beforeAll(async () => {
    platform = await api.client(null, ['admin', 'listeners:run']);
    const answer = await platform.call('PUT', `/v2/listeners/${PLATFORM_LISTENER_ID}/lease`, lease);
    expect(answer.status).toBe(200);
  });

  test('a dry run renders the components, port and variables', async () => {
    const answer = await client.call<DryRun>(
      'POST',
      '/v2/deployments?dry_run=true',
      createBody(withSettings(SETTINGS)),
    );
    const workloads = (answer.body.manifests ?? []).filter(({ kind }) => kind === 'Deployment');
    const names = workloads.map(({ metadata }) => metadata.name.replace(/^.*-/, ''));
    expect(names).toEqual(expect.arrayContaining(['api', 'queue']));
    expect(JSON.stringify(workloads)).toContain('"containerPort":80');
    expect(JSON.stringify(workloads)).toContain('"value":"$(DATABASE_URI)"');
  });

  test('the work item has the run settings in the pod template, and the hash of the whole spec', async () => {
    const made = await create(client, withSettings(SETTINGS));
    const { epoch } = (
      await platform.call<{ epoch: number }>('PUT', `/v2/listeners/${PLATFORM_LISTENER_ID}/lease`, lease)
    ).body;
    const url = `/v2/listeners/${PLATFORM_LISTENER_ID}/work?epoch=${epoch}`;
    const items: ApplyWork[] = [];
    while (!items.some(({ deployment_id }) => deployment_id === made.id)) {
      const { body } = await platform.call<{ items: ApplyWork[] }>('GET', url);
      expect(body.items.length).toBeGreaterThan(0);
      items.push(...body.items);
    }
    const item = items.find(({ deployment_id }) => deployment_id === made.id);
    expect(item?.spec.podTemplate).toMatchObject(SETTINGS);
    expect(item?.spec.components.queue).toMatchObject({ byCommand: true });
    expect(item?.env_secrets).toEqual([]);
  });
});

describe('release_command', () => {
  const RELEASE = { release_command: ['./manage', 'migrate'], release_timeout_seconds: 600 };
  const post = (path: string, body: object = {}) =>
    client.call<{ id: string; runs_release?: boolean; source_revision_config: object }>('POST', path, body);

  test('is shown, and a dry run says when it would run', async () => {
    const made = await create(client, withSettings(RELEASE));
    expect(made.source_revision_config).toEqual({ ...UNSET, ...RELEASE });
    const dry = (config: object) => patch(made.id, config, '?dry_run=true');
    expect((await dry({ port: 81 })).body).toMatchObject({ runs_release: true, new_revision: true });
    expect((await dry({})).body).not.toHaveProperty('runs_release');
    const removed = await dry({ release_command: null });
    expect(removed.body).not.toHaveProperty('runs_release');
    expect(removed.body.changes).toEqual([
      { field: 'source_revision_config.release_command', before: RELEASE.release_command, after: null },
    ]);
  });

  test('is run by a redeploy, and by a rollback only with run_release', async () => {
    const made = await create(client, withSettings(RELEASE));
    await patch(made.id, { port: 81 });
    const path = `/v2/deployments/${made.id}/revisions/${made.latest_revision_id}`;
    expect((await post(`${path}/redeploy?dry_run=true`)).body).toMatchObject({ runs_release: true });
    expect((await post(`${path}/rollback?dry_run=true`)).body).not.toHaveProperty('runs_release');
    expect((await post(`${path}/rollback?dry_run=true`, { run_release: true })).body).toMatchObject({
      runs_release: true,
    });
    expect((await post(`${path}/rollback`, { run: true })).status).toBe(422);
    const back = await post(`${path}/rollback`);
    expect(back.body.source_revision_config).toEqual({ ...UNSET, ...RELEASE });
    // A PATCH with the response changes nothing, although this revision does not run the command.
    const again = await patch(made.id, back.body.source_revision_config, '?dry_run=true');
    expect(again.body).toMatchObject({ new_revision: false, changes: [] });
    expect((await patch(made.id, { port: 82 }, '?dry_run=true')).body).toMatchObject({ runs_release: true });
  });
});
