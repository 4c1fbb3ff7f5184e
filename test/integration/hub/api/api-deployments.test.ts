/** POST, GET, list and DELETE of deployments, revisions, events and tracing projects, as a client sees them. */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { PLATFORM_LISTENER_ID } from '../../../../src/domain/deployment/source.ts';
import {
  type ApiFixture,
  type Client,
  create,
  createBody,
  type Deployment,
  startApi,
  uniqueName,
} from '../../harness/api.ts';

let api: ApiFixture;
let client: Client;
beforeAll(async () => {
  api = await startApi();
  client = await api.tenant();
});
afterAll(() => api.stop());

interface Page<T = Deployment> {
  resources: T[];
  offset: number;
}

const get = <T = Deployment>(url: string, by: Client = client) => by.call<T>('GET', url);
const list = async (query: string, by: Client = client) =>
  (await get<Page>(`/v2/deployments${query}`, by)).body;
const idsOf = ({ resources }: Page) => resources.map(({ id }) => id);

describe('POST /v2/deployments', () => {
  test('returns the deployment with its Location and ETag', async () => {
    const body = createBody({ secrets: [{ name: 'TOKEN', value: 'abc' }] });
    const answer = await client.call<Deployment>('POST', '/v2/deployments', body);
    expect(answer.status).toBe(201);
    expect(answer.headers).toMatchObject({
      etag: '"1"',
      location: `/v2/deployments/${answer.body.id}`,
      'cache-control': 'no-store',
    });
    expect(answer.body).toMatchObject({
      ...body,
      source_config: { resource_spec: null },
      tenant_id: client.tenantId,
      status: 'AWAITING_DATABASE',
      generation: 1,
      observed_generation: 0,
      remote_reconciled: false,
      active_revision_id: null,
      image_version: '1.0.0',
      conditions: [{ type: 'Ready', status: 'False', reason: 'ListenerNeverSeen' }],
    });
    expect((await get(`/v2/deployments/${answer.body.id}`)).body).toEqual(answer.body);
  });

  test('creates the tracing project, the first revision and an event', async () => {
    const made = await create(client);
    const project = await get(`/v2/tracing-projects/${made.tracing_project_id}`);
    expect(project.body).toMatchObject({ name: made.name, tenant_id: client.tenantId });
    const revision = await get(`/v2/deployments/${made.id}/revisions/${made.latest_revision_id}`);
    expect(revision.body).toMatchObject({
      deployment_id: made.id,
      number: 1,
      status: 'QUEUED',
      source_revision_config: made.source_revision_config,
      resolved_image: null,
      deployed_at: null,
    });
    const events = await get<Page<object>>(`/v2/deployments/${made.id}/events`);
    expect(events.body).toMatchObject({
      resources: [{ reason: 'Created', actor: { kind: 'api_key', name: 'test' } }],
      offset: 1,
    });
  });

  test('resolves an image that is pinned by digest', async () => {
    const image_uri = `shop/web@sha256:${'0a'.repeat(32)}`;
    const made = await create(client, { source_revision_config: { image_uri } });
    const revision = await get(`/v2/deployments/${made.id}/revisions/${made.latest_revision_id}`);
    expect(revision.body).toMatchObject({ resolved_image: image_uri });
    expect(made.image_version).toBeNull();
  });

  test('creates no revision for an internal_image without an image, and its status is UNUSED', async () => {
    const made = await create(client, { source: 'internal_image', source_revision_config: {} });
    expect(made).toMatchObject({ status: 'UNUSED', latest_revision_id: null, image_version: null });
    const revisions = await get<Page>(`/v2/deployments/${made.id}/revisions`);
    expect(revisions.body).toEqual({ resources: [], offset: 0 });
  });

  test('returns 409 for a name that is taken, and accepts it for another tenant', async () => {
    const name = uniqueName();
    await create(client, { name });
    const before = await api.rowCounts();
    const answer = await client.call('POST', '/v2/deployments', createBody({ name }));
    expect(answer).toMatchObject({ status: 409, body: { detail: expect.stringContaining('name') } });
    expect(await api.rowCounts()).toEqual(before);
    await create(await api.tenant(), { name });
  });

  test('creates one deployment when several requests with the same name arrive at once', async () => {
    const name = uniqueName();
    const answers = await Promise.all(
      [...Array(8)].map(() => client.call('POST', '/v2/deployments', createBody({ name }))),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([201, ...Array(7).fill(409)]);
    expect((await list(`?name=${name}`)).resources).toHaveLength(1);
  });

  test('returns 409 for a host that a deployment of another tenant has', async () => {
    const custom_url = `https://${uniqueName()}.example.com/a`;
    await create(client, { source_config: { custom_url } });
    const other = await api.tenant();
    const body = createBody({ source_config: { custom_url: custom_url.replace(/a$/, 'b') } });
    const answer = await other.call('POST', '/v2/deployments', body);
    expect(answer).toMatchObject({ status: 409, body: { detail: expect.stringContaining('custom_url') } });
  });

  test('uses the requested namespace of the listener, or its first one by default', async () => {
    const made = await client.call<{ id: string }>('POST', '/v2/listeners', {
      compute_id: uniqueName('cluster'),
      compute_config: { k8s_namespaces: ['apps', 'more'] },
    });
    expect(made.status).toBe(201);
    const at = (cluster_namespace?: string) =>
      createBody({ source_config: { listener_id: made.body.id, listener_config: { cluster_namespace } } });
    expect((await client.call('POST', '/v2/deployments', at('more'))).status).toBe(201);
    const first = await client.call<Deployment>('POST', '/v2/deployments', at());
    const [row] = await api.store.sql<{ namespace: string }>(
      'SELECT namespace FROM deployments WHERE id = $1',
      [first.body.id],
    );
    expect(row?.namespace).toBe('apps');
    const refused = await client.call('POST', '/v2/deployments', at('other'));
    expect(refused).toMatchObject({
      status: 400,
      body: { detail: [{ loc: ['body', 'source_config', 'listener_config', 'cluster_namespace'] }] },
    });
  });

  test('returns 400 for the listener of another tenant', async () => {
    const other = await api.tenant();
    const theirs = await other.call<{ id: string }>('POST', '/v2/listeners', { compute_id: 'theirs' });
    const body = createBody({ source_config: { listener_id: theirs.body.id } });
    expect((await client.call('POST', '/v2/deployments', body)).status).toBe(400);
  });
});

describe('secrets', () => {
  const secrets = [{ name: 'TOKEN', value: 'hush' }];

  test('are masked for keys without secrets:read, and on request', async () => {
    const made = await create(client, { secrets });
    const url = `/v2/deployments/${made.id}`;
    const masked = [{ name: 'TOKEN', value: '**********' }];
    expect(made.secrets).toEqual(secrets);
    expect((await get(`${url}?mask_secrets=true`)).body.secrets).toEqual(masked);
    expect((await list(`?name=${made.name}&mask_secrets=true`)).resources[0]?.secrets).toEqual(masked);
    const blind = await api.client(client.tenantId, ['deployments:read', 'deployments:write']);
    expect((await get(url, blind)).body.secrets).toEqual(masked);
    expect((await list(`?name=${made.name}`, blind)).resources[0]?.secrets).toEqual(masked);
    expect((await create(blind, { secrets })).secrets).toEqual(masked);
    expect((await blind.call<Deployment>('PATCH', url, {})).body.secrets).toEqual(masked);
  });
});

describe('listing and tagging', () => {
  test('returns pages with the newest deployment first', async () => {
    const own = await api.tenant();
    const made: string[] = [];
    for (let n = 0; n < 5; n += 1) made.unshift((await create(own)).id);
    const first = await list('?limit=2', own);
    expect(first.offset).toBe(2);
    const second = await list(`?limit=2&offset=${first.offset}`, own);
    const third = await list(`?limit=2&offset=${second.offset}`, own);
    expect([first, second, third].flatMap(idsOf)).toEqual(made);
    expect(third.offset).toBe(5);
    expect(await list('?offset=5', own)).toEqual({ resources: [], offset: 5 });
  });

  test('returns 20 deployments by default', async () => {
    const own = await api.tenant();
    await Promise.all([...Array(21)].map(() => create(own)));
    expect((await list('', own)).resources).toHaveLength(20);
  });

  test('filters by name, status, reconciliation, image version, type and ids', async () => {
    const own = await api.tenant();
    const a = await create(own, { name: 'shop_a', source_config: { deployment_type: 'prod' } });
    const b = await create(own, {
      name: 'shopxb',
      source_revision_config: { image_uri: 'registry.example.com/web:2' },
    });
    const c = await create(own, { name: 'other', source: 'internal_image', source_revision_config: {} });
    const found = async (query: string) => idsOf(await list(query, own));
    expect(await found('?name=shop_a')).toEqual([a.id]);
    expect(await found('?name=shop')).toEqual([]);
    expect(await found('?name_contains=shop')).toEqual([b.id, a.id]);
    expect(await found('?name_contains=shop_')).toEqual([a.id]);
    expect(await found('?status=UNUSED')).toEqual([c.id]);
    expect(await found('?status=AWAITING_DATABASE')).toEqual([b.id, a.id]);
    expect(await found('?remote_reconciled=false')).toEqual([c.id, b.id, a.id]);
    expect(await found('?remote_reconciled=true')).toEqual([]);
    expect(await found('?image_version=2')).toEqual([b.id]);
    expect(await found('?deployment_type=prod')).toEqual([a.id]);
    expect(await found(`?deployment_ids=${a.id},${c.id}`)).toEqual([c.id, a.id]);
    expect(await found(`?deployment_ids=${a.id},${c.id}&status=UNUSED`)).toEqual([c.id]);
  });

  test('filters by tags: one of the given values of each key must match', async () => {
    const own = await api.tenant();
    const made = [await create(own), await create(own), await create(own)] as const;
    const value = async (key: string, text: string) => {
      const values = await own.call<{ id: string }>('POST', `/v2/tag-keys/${key}/values`, { value: text });
      expect(values.status).toBe(201);
      return values.body.id;
    };
    const key = async (text: string) =>
      (await own.call<{ id: string }>('POST', '/v2/tag-keys', { key: text })).body.id;
    const [team, stage] = [await key('team'), await key('stage')];
    const [red, blue, live] = [
      await value(team, 'red'),
      await value(team, 'blue'),
      await value(stage, 'live'),
    ];
    const tag = async (id: string, ids: string[]) => {
      const answer = await own.call<Page<{ id: string }>>('PUT', `/v2/deployments/${id}/tag-values`, {
        tag_value_ids: ids,
      });
      expect(answer.body.resources.map((each) => each.id)).toEqual(ids);
      expect((await get<Page>(`/v2/deployments/${id}/tag-values`, own)).body).toEqual(answer.body);
    };
    await tag(made[0].id, [red, live]);
    await tag(made[1].id, [blue]);
    const found = async (ids: string[]) => idsOf(await list(`?tag_value_ids=${ids.join()}`, own));
    expect(await found([red, blue])).toEqual([made[1].id, made[0].id]);
    expect(await found([red, blue, live])).toEqual([made[0].id]);
    await tag(made[0].id, []);
    expect(await found([live])).toEqual([]);
    const keys = await get<Page<{ key: string }>>('/v2/tag-keys', own);
    expect(keys.body.resources.map(({ key: text }) => text)).toEqual(['stage', 'team']);
    expect((await get<Page>(`/v2/tag-keys/${team}/values`, own)).body.resources).toHaveLength(2);
    expect((await own.call('POST', '/v2/tag-keys', { key: 'team' })).status).toBe(409);
    expect((await own.call('POST', `/v2/tag-keys/${team}/values`, { value: 'red' })).status).toBe(409);
    const foreign = await client.call('PUT', `/v2/deployments/${(await create(client)).id}/tag-values`, {
      tag_value_ids: [red],
    });
    expect(foreign.status).toBe(400);
  });

  test('records a change of tags as an event, and returns 409 for it after a deletion request', async () => {
    const own = await api.tenant();
    const { id } = await create(own);
    const key = (await own.call<{ id: string }>('POST', '/v2/tag-keys', { key: 'team' })).body.id;
    const values = `/v2/tag-keys/${key}/values`;
    const red = (await own.call<{ id: string }>('POST', values, { value: 'red' })).body.id;
    const tag = (ids: string[]) =>
      own.call('PUT', `/v2/deployments/${id}/tag-values`, { tag_value_ids: ids });
    const changes = async () => {
      const { body } = await get<Page<Record<string, unknown>>>(`/v2/deployments/${id}/events`, own);
      return body.resources.filter(({ reason }) => reason === 'Patched');
    };
    expect((await tag([red])).status).toBe(200);
    expect(await changes()).toMatchObject([
      {
        message: 'The tag values were changed.',
        actor: { kind: 'api_key' },
        details: { tag_value_ids: [red] },
      },
    ]);
    // The same again is no change.
    expect((await tag([red, red])).status).toBe(200);
    expect((await tag([randomUUID()])).status).toBe(400);
    expect(await changes()).toHaveLength(1);
    expect((await own.call('DELETE', `/v2/deployments/${id}`)).status).toBe(204);
    expect((await tag([])).status).toBe(409);
    expect(await changes()).toHaveLength(1);
  });

  test.each([
    ['limit=0', 'limit'],
    ['limit=101', 'limit'],
    ['limit=ten', 'limit'],
    ['limit=', 'limit'],
    ['limit=1e1', 'limit'],
    ['limit=1&limit=2', 'limit'],
    ['offset=-1', 'offset'],
    ['offset=99999999999999999999', 'offset'],
    ['status=ready', 'status'],
    ['remote_reconciled=yes', 'remote_reconciled'],
    ['tag_value_ids=x', 'tag_value_ids'],
    ['deployment_ids=', 'deployment_ids'],
    ['deployment_type=huge', 'deployment_type'],
    ['name=', 'name'],
    ['name=a%00b', 'name'],
    ['sort=name', 'sort'],
    ['__proto__=x', '__proto__'],
  ])('returns 422 for ?%s', async (query, field) => {
    const answer = await get<{ detail: { loc: string[] }[] }>(`/v2/deployments?${query}`);
    expect(answer.status).toBe(422);
    expect(answer.body.detail[0]?.loc.slice(0, 2)).toEqual(['query', field]);
  });
});

describe('DELETE /v2/deployments/{id}', () => {
  test('requests the deletion once, returns 204 again when repeated, and frees the name', async () => {
    const made = await create(client);
    const url = `/v2/deployments/${made.id}`;
    expect(await client.call('DELETE', url)).toMatchObject({ status: 204, body: null });
    const asked = await get(url);
    expect(asked.body).toMatchObject({ status: 'AWAITING_DELETE', generation: 2 });
    expect((await client.call('DELETE', url)).status).toBe(204);
    expect((await get(url)).body).toEqual(asked.body);
    expect(await client.call('PATCH', url, {})).toMatchObject({ status: 409 });
    const again = await create(client, { name: made.name });
    expect(again.tracing_project_id).toBe(made.tracing_project_id);
    const events = await get<Page<{ reason: string }>>(`${url}/events`);
    expect(events.body.resources.map(({ reason }) => reason)).toEqual(['DeletionRequested', 'Created']);
  });

  test('accepts a content type without a body', async () => {
    const made = await create(client);
    const headers = { 'content-type': 'application/json' };
    expect((await client.call('DELETE', `/v2/deployments/${made.id}`, undefined, headers)).status).toBe(204);
  });

  test('returns 404 for an unknown id and 422 for an invalid one', async () => {
    const unknown = '01890000-0000-7000-8000-000000000000';
    expect((await client.call('DELETE', `/v2/deployments/${unknown}`)).status).toBe(404);
    expect((await client.call('DELETE', '/v2/deployments/1')).status).toBe(422);
  });
});

describe('a deployment of a cluster that reports', () => {
  test('shows conditions and READY, and UNKNOWN when the lease of the listener has expired', async () => {
    const made = await create(client);
    const platform = await api.client(null, ['listeners:run']);
    const hub = `/v2/listeners/${PLATFORM_LISTENER_ID}`;
    const lease = { holder: 'test', version: '1', cluster_version: 'v1.36.0', rendering: null, epoch: null };
    const { body } = await platform.call<{ epoch: number }>('PUT', `${hub}/lease`, lease);
    const url = `/v2/deployments/${made.id}`;
    expect((await get(url)).body.conditions).toMatchObject([
      { type: 'Ready', status: 'False', reason: 'Reconciling' },
    ]);
    const [row] = await api.store.sql<{ app_name: string; namespace: string }>(
      'SELECT app_name, namespace FROM deployments WHERE id = $1',
      [made.id],
    );
    const revision = { id: made.latest_revision_id, number: 1 };
    const condition = (type: string) => ({
      type,
      status: 'True',
      reason: 'Converged',
      message: 'there\u0000',
      lastTransitionTime: new Date().toISOString(),
    });
    const observed = {
      kind: 'observed',
      deployment_id: made.id,
      name: row?.app_name,
      namespace: row?.namespace,
      observed_spec_generation: 1,
      conditions: ['DatabaseReady', 'CacheReady', 'Ready'].map(condition),
      off: false,
      url: null,
      active_revision: revision,
      rollout_revision: null,
      failed_revision: null,
    };
    const reports = { epoch: body.epoch, seq: 1, reports: [observed] };
    expect((await platform.call('POST', `${hub}/reports`, reports)).status).toBe(200);
    const ready = await get(url);
    expect(ready.body).toMatchObject({
      status: 'READY',
      active_revision_id: made.latest_revision_id,
      observed_generation: 1,
      remote_reconciled: true,
      last_observed_at: expect.any(String),
    });
    expect(ready.headers['etag']).toBe('"1"');
    expect(ready.body.conditions.find(({ type }) => type === 'Ready')?.status).toBe('True');

    const patched = await client.call<Deployment>('PATCH', url, {
      source_config: { resource_spec: { cpu: 2 } },
    });
    expect(patched.body).toMatchObject({ status: 'READY', remote_reconciled: false });
    expect(patched.body.conditions.find(({ type }) => type === 'Ready')).toMatchObject({
      status: 'False',
      reason: 'Reconciling',
    });

    await api.store.sql("UPDATE listeners SET lease_expires_at = now() - interval '1 s' WHERE id = $1", [
      PLATFORM_LISTENER_ID,
    ]);
    const lost = (await get(url)).body;
    expect(lost.status).toBe('UNKNOWN');
    expect(new Set(lost.conditions.map(({ status, reason }) => `${status} ${reason}`))).toEqual(
      new Set(['Unknown ListenerLost']),
    );
    const listener = await get(hub);
    expect(listener.body).toMatchObject({ status: 'LOST', compute_id: 'local', tenant_id: null });
  });
});

describe('other routes', () => {
  test('GET …/revisions filters by status and remote_reconciled', async () => {
    const made = await create(client);
    const url = `/v2/deployments/${made.id}/revisions`;
    expect((await get<Page>(`${url}?status=QUEUED,DEPLOYED`)).body.resources).toHaveLength(1);
    expect((await get<Page>(`${url}?status=DEPLOYED`)).body.resources).toHaveLength(0);
    expect((await get<Page>(`${url}?remote_reconciled=false`)).body.resources).toHaveLength(1);
    expect((await get(`${url}?status=GOOD`)).status).toBe(422);
  });

  test('/v2/listeners creates, lists and returns listeners', async () => {
    const own = await api.tenant();
    const made = await own.call<{ id: string }>('POST', '/v2/listeners', { compute_id: 'one' });
    expect(made.body).toMatchObject({
      tenant_id: own.tenantId,
      compute_type: 'k8s',
      compute_config: { k8s_namespaces: [] },
      status: 'NEVER_SEEN',
    });
    expect((await own.call('POST', '/v2/listeners', { compute_id: 'one' })).status).toBe(409);
    expect((await own.call('POST', '/v2/listeners', { compute_id: '' })).status).toBe(422);
    const listed = await get<Page<{ id: string }>>('/v2/listeners', own);
    expect(listed.body.resources.map(({ id }) => id)).toEqual([made.body.id, PLATFORM_LISTENER_ID]);
    expect((await get(`/v2/listeners/${made.body.id}`, own)).body).toEqual(made.body);
  });

  test('GET /v2/tracing-projects lists the projects of the tenant', async () => {
    const own = await api.tenant();
    const made = await create(own);
    const listed = await get<Page>('/v2/tracing-projects', own);
    expect(listed.body).toMatchObject({ resources: [{ id: made.tracing_project_id }], offset: 1 });
  });

  test('/healthz and /readyz need no key, and an unknown path returns 404', async () => {
    for (const url of ['/healthz', '/readyz']) {
      const answer = await api.app.inject({ method: 'GET', url });
      expect(answer.json()).toEqual({ status: 'ok' });
    }
    const answer = await api.app.inject({ method: 'GET', url: '/v2/nothing' });
    expect(answer.statusCode).toBe(404);
    expect(answer.json()).toEqual({ detail: expect.any(String) });
  });
});
