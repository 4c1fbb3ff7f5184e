/** Who may call what: made from the list of routes, so that none is forgotten. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { PLATFORM_LISTENER_ID } from '../../src/domain/source.ts';
import { hashApiKey, revokeApiKey, type Scope } from '../../src/store/api-keys.ts';
import {
  ALL_SCOPES,
  type ApiFixture,
  type Client,
  create,
  createBody,
  type KnownRoute,
  startApi,
} from './harness/api.ts';

const UNKNOWN = '01890000-0000-7000-8000-00000000dead';
const INTERNAL = 'internal-key-of-this-process';

let api: ApiFixture;
let owner: Client;
let stranger: Client;
/** Ids of things that belong to `owner`, by the name of the path parameter. */
let owned: Record<string, string>;

beforeAll(async () => {
  const internalKey = { hash: hashApiKey(INTERNAL), scopes: ['listeners:run'], platform: true } as const;
  api = await startApi({ deps: { internalKey } });
  owner = await api.tenant();
  stranger = await api.tenant(ALL_SCOPES.filter((scope) => scope !== 'admin'));
  const deployment = await create(owner, { secrets: [{ name: 'A', value: 'x' }] });
  const key = await owner.call<{ id: string }>('POST', '/v2/tag-keys', { key: 'team' });
  const listener = await owner.call<{ id: string }>('POST', '/v2/listeners', { compute_id: 'own' });
  owned = {
    deployment_id: deployment.id,
    revision_id: deployment.latest_revision_id ?? '',
    tag_key_id: key.body.id,
    listener_id: listener.body.id,
    id: listener.body.id,
    tracing_project_id: deployment.tracing_project_id,
  };
});
afterAll(() => api.stop());

/** A body and query with which the route's handler is reached. */
const REQUESTS: Readonly<Record<string, { body?: unknown; query?: string }>> = {
  'POST /v2/deployments': { body: createBody() },
  'PATCH /v2/deployments/:deployment_id': { body: { secrets: [] } },
  'PUT /v2/deployments/:deployment_id/tag-values': { body: { tag_value_ids: [] } },
  'POST /v2/tag-keys': { body: { key: 'x' } },
  'POST /v2/tag-keys/:tag_key_id/values': { body: { value: 'x' } },
  'POST /v2/listeners': { body: { compute_id: 'x' } },
  'PUT /v2/listeners/:id/lease': {
    body: { holder: 'a', version: '1', cluster_version: '1', rendering: null, epoch: null },
  },
  'GET /v2/listeners/:id/work': { query: '?epoch=1' },
  'POST /v2/listeners/:id/reports': { body: { epoch: 1, seq: 1, reports: [] } },
  'POST /v2/listeners/:id/inventory': { body: { epoch: 1, complete: false, items: [] } },
};

const nameOf = ({ method, url }: KnownRoute) => `${method} ${url}`;
const guarded = () =>
  api.routes.filter(({ config, method }) => config.access !== 'public' && method !== 'HEAD');
const parametersOf = ({ url }: KnownRoute) => [...url.matchAll(/:(\w+)/g)].map(([, name = '']) => name);

function urlOf(route: KnownRoute, ids: Record<string, string>): string {
  const path = route.url.replace(/:(\w+)/g, (_whole, name: string) => ids[name] ?? UNKNOWN);
  return `${path}${REQUESTS[nameOf(route)]?.query ?? ''}`;
}

const send = (
  by: Client,
  route: KnownRoute,
  ids: Record<string, string>,
  headers: Record<string, string> = {},
) =>
  by.call<{ detail: unknown }>(
    route.method as 'GET',
    urlOf(route, ids),
    REQUESTS[nameOf(route)]?.body,
    headers,
  );

test('every route says who may call it, and only these are open', () => {
  expect(api.routes.filter(({ config }) => config.access === undefined)).toEqual([]);
  const open = api.routes.filter(({ config, method }) => config.access === 'public' && method === 'GET');
  const paths = open.map(({ url }) => url).filter((url) => !url.startsWith('/docs'));
  expect(paths.sort()).toEqual(['/healthz', '/openapi.json', '/readyz']);
  expect(guarded().length).toBeGreaterThan(15);
});

test('no key, a wrong key, an overlong key: 401', async () => {
  for (const route of guarded()) {
    for (const key of [undefined, 'berth_wrong', 'x'.repeat(600)]) {
      const response = await api.app.inject({
        method: route.method as 'GET',
        url: urlOf(route, owned),
        headers: key === undefined ? {} : { 'x-api-key': key },
      });
      expect(response.statusCode, nameOf(route)).toBe(401);
      expect(response.json()).toEqual({ detail: expect.any(String) });
    }
  }
});

test('a key that lacks the scope: 403', async () => {
  for (const route of guarded()) {
    const needed = route.config.access === 'public' ? [] : (route.config.access?.scopes ?? []);
    const others: Scope[] = ALL_SCOPES.filter((scope) => !needed.includes(scope) && scope !== 'admin');
    const answer = await send(await api.client(owner.tenantId, others), route, owned);
    expect(answer.status, nameOf(route)).toBe(403);
    expect(answer.body.detail).toContain(needed[0]);
  }
});

test("another tenant's ids: 404, and nothing is written", async () => {
  const before = await api.rowCounts();
  const routes = guarded().filter((route) => parametersOf(route).length > 0);
  expect(routes.length).toBeGreaterThan(10);
  for (const route of routes) {
    const answer = await send(stranger, route, owned);
    expect(answer.status, nameOf(route)).toBe(404);
    const unknown = await send(stranger, route, {});
    expect(unknown, nameOf(route)).toMatchObject({ status: 404, body: answer.body });
  }
  expect(await api.rowCounts()).toEqual(before);
  expect((await owner.call('GET', `/v2/deployments/${owned['deployment_id']}`)).body).toMatchObject({
    generation: 1,
  });
});

test("another tenant's things are on no list", async () => {
  const lists = guarded().filter((route) => route.method === 'GET' && parametersOf(route).length === 0);
  expect(lists.length).toBe(4);
  for (const route of lists) {
    const answer = await stranger.call<{ resources: { id: string }[] }>('GET', route.url);
    const ids = answer.body.resources.map(({ id }) => id).filter((id) => id !== PLATFORM_LISTENER_ID);
    expect(ids, nameOf(route)).toEqual([]);
  }
});

test('an id that is none: 422 with its place', async () => {
  for (const route of guarded().filter((each) => parametersOf(each).length > 0)) {
    const [parameter = ''] = parametersOf(route);
    const answer = await send(owner, route, { ...owned, [parameter]: 'none' });
    expect(answer, nameOf(route)).toMatchObject({
      status: 422,
      body: { detail: [{ loc: ['path', parameter] }] },
    });
  }
});

test('a query parameter that does not exist: 422', async () => {
  for (const route of guarded()) {
    const url = `${urlOf(route, owned)}${urlOf(route, owned).includes('?') ? '&' : '?'}nonsense=1`;
    if (url.includes('/lease') || url.includes('/reports') || url.includes('/inventory')) continue;
    const answer = await owner.call(route.method as 'GET', url, REQUESTS[nameOf(route)]?.body);
    expect(answer, nameOf(route)).toMatchObject({
      status: 422,
      body: { detail: [{ loc: ['query', 'nonsense'] }] },
    });
  }
});

describe('X-Tenant-Id', () => {
  const url = '/v2/deployments';
  const as = (client: Client, tenant: string) =>
    client.call('GET', url, undefined, { 'x-tenant-id': tenant });

  test("may be the key's own tenant", async () => {
    expect((await as(stranger, stranger.tenantId)).status).toBe(200);
    expect((await as(stranger, stranger.tenantId.toUpperCase())).status).toBe(200);
  });

  test('another one only for an admin', async () => {
    const refused = await as(stranger, owner.tenantId);
    expect(refused.status).toBe(404);
    expect((await as(stranger, UNKNOWN)).body).toEqual(refused.body);
    const answer = await owner.call<{ resources: object[] }>('GET', url, undefined, {
      'x-tenant-id': stranger.tenantId,
    });
    expect(answer.body.resources).toEqual([]);
    const made = await owner.call<{ tenant_id: string; id: string }>('POST', url, createBody(), {
      'x-tenant-id': stranger.tenantId,
    });
    expect(made.body.tenant_id).toBe(stranger.tenantId);
    expect((await stranger.call('GET', `${url}/${made.body.id}`)).status).toBe(200);
  });

  test('one that does not exist, one that is no id', async () => {
    expect((await as(owner, UNKNOWN)).status).toBe(404);
    expect((await as(owner, 'none')).body).toMatchObject({ detail: [{ loc: ['header', 'X-Tenant-Id'] }] });
  });

  test('is needed with a key of the platform', async () => {
    const platform = await api.client(null, ALL_SCOPES);
    expect((await platform.call('GET', url)).body).toMatchObject({
      detail: [{ loc: ['header', 'X-Tenant-Id'] }],
    });
    expect((await as(platform, owner.tenantId)).status).toBe(200);
  });
});

test('a revoked key ends', async () => {
  const { key, call } = await api.tenant();
  expect((await call('GET', '/v2/deployments')).status).toBe(200);
  const [row] = await api.store.sql<{ id: string }>('SELECT id FROM api_keys WHERE hash = $1', [
    hashApiKey(key),
  ]);
  await api.store.database.platform.transaction((tx) => revokeApiKey(tx, null, row?.id ?? ''));
  const [remembered] = await api.store.sql<{ last_used_at: Date | null }>(
    'SELECT last_used_at FROM api_keys WHERE id = $1',
    [row?.id],
  );
  expect(remembered?.last_used_at).not.toBeNull();
  await expect
    .poll(async () => (await call('GET', '/v2/deployments')).status, { timeout: 15_000, interval: 500 })
    .toBe(401);
});

test("the process's own listener calls without a key of the database", async () => {
  const response = await api.app.inject({
    method: 'PUT',
    url: `/v2/listeners/${PLATFORM_LISTENER_ID}/lease`,
    headers: { 'x-api-key': INTERNAL },
    payload: REQUESTS['PUT /v2/listeners/:id/lease']?.body as object,
  });
  expect(response.statusCode).toBe(200);
  const other = await api.app.inject({ url: '/v2/deployments', headers: { 'x-api-key': INTERNAL } });
  expect(other.statusCode).toBe(403);
});
