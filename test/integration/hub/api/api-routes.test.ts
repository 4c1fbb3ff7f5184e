/**
 * Who may call what, made from the app's own list of routes, so that none is forgotten: no key 401, a scope that is
 * lacking 403, another tenant's id 404, each with nothing changed in the database. A route with a path parameter or a body that
 * harness/requests.ts cannot make fails here.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { PLATFORM_LISTENER_ID } from '../../../../src/domain/deployment/source.ts';
import type { Scope } from '../../../../src/hub/store/tenancy/api-keys.ts';
import {
  ALL_SCOPES,
  type ApiFixture,
  type Client,
  createBody,
  type KnownRoute,
  platformRegistry,
  startApi,
} from '../../harness/api.ts';
import {
  guardedRoutes,
  type Ids,
  idsOf,
  makeIds,
  nameOf,
  parametersOf,
  requestOf,
  UNKNOWN_ID,
} from '../../harness/requests.ts';

let api: ApiFixture;
let owner: Client;
let owned: Ids;
beforeAll(async () => {
  api = await startApi({ deps: platformRegistry() });
  owner = await api.tenant();
  owned = await makeIds(api, owner);
});
afterAll(() => api.stop());

const scopesOf = ({ config }: KnownRoute): readonly Scope[] =>
  config.access === undefined || config.access === 'public' ? [] : config.access.scopes;
const hasIds = (route: KnownRoute) => idsOf(route).length > 0;
const isAdmins = (route: KnownRoute) => scopesOf(route).every((scope) => scope === 'admin');

interface Answered {
  status: number;
  text: string;
  detail: unknown;
}

let calls = 0;

/** Calls from an address of its own each time: no limit on failures of one address gets in the way. */
async function send(route: KnownRoute, ids: Ids, headers: Record<string, string>): Promise<Answered> {
  const { url, payload, headers: own } = requestOf(route, ids);
  calls += 1;
  const response = await api.app.inject({
    method: route.method as 'GET',
    url,
    remoteAddress: `10.0.${Math.floor(calls / 250)}.${calls % 250}`,
    headers: { ...headers, ...own },
    ...(payload === undefined ? {} : { payload }),
  });
  const text = response.payload;
  const isJson = String(response.headers['content-type']).startsWith('application/json');
  return { status: response.statusCode, text, detail: isJson ? JSON.parse(text).detail : null };
}

const as = ({ key }: Client) => ({ 'x-api-key': key });

/** Every row of every table, but for the time at which a key was last used. */
async function contents(): Promise<Record<string, string>> {
  const tables = await api.store.sql<{ name: string }>(
    `SELECT table_name AS name FROM information_schema.tables
     WHERE table_schema = 'public' AND table_type = 'BASE TABLE' ORDER BY 1`,
  );
  expect(tables.length).toBeGreaterThan(12);
  const rows: Record<string, string> = {};
  for (const { name } of tables) {
    const [row] = await api.store.sql<{ text: string | null }>(
      `SELECT string_agg((to_jsonb(t) - 'last_used_at')::text, E'\\n' ORDER BY to_jsonb(t)::text) AS text FROM "${name}" t`,
    );
    rows[name] = row?.text ?? '';
  }
  return rows;
}

/** Runs `work` and expects that it changed nothing. */
async function unchanged(work: () => Promise<void>): Promise<void> {
  const before = await contents();
  await work();
  expect(await contents()).toEqual(before);
}

test('every route declares its scopes, and only the routes listed here are public', () => {
  expect(api.routes.filter(({ config }) => config.access === undefined)).toEqual([]);
  const open = api.routes.filter(({ config, method }) => config.access === 'public' && method !== 'HEAD');
  const names = open.map(nameOf).filter((name) => !name.startsWith('GET /docs'));
  const webhooks = names.filter((name) => name.startsWith('POST /v2/webhooks/'));
  expect(names.filter((name) => !webhooks.includes(name)).sort()).toEqual([
    'GET /',
    'GET /auth/device',
    'GET /healthz',
    'GET /openapi-3.0.json',
    'GET /openapi.json',
    'GET /readyz',
    'GET /v2/auth/callback',
    'GET /v2/auth/device/:user_code',
    'GET /v2/auth/methods',
    'GET /v2/auth/session',
    'GET /v2/auth/sign-in',
    'GET /v2/registry/token',
    'POST /auth/device',
    'POST /v2/auth/device',
    'POST /v2/auth/device/:user_code',
    'POST /v2/auth/key-session',
    'POST /v2/auth/sign-out',
    'POST /v2/auth/token',
    'POST /v2/registry/token',
  ]);
  expect(guardedRoutes(api).length).toBeGreaterThan(25);
});

test('every route accepts the request of this test from the owner', async () => {
  const refused: string[] = [];
  for (const route of guardedRoutes(api)) {
    // A world of its own: some of these delete things.
    const client = await api.tenant();
    const answer = await send(route, await makeIds(api, client), as(client));
    if ([400, 401, 403, 404, 415, 422, 429, 500].includes(answer.status))
      refused.push(`${nameOf(route)}: ${answer.status} ${answer.text}`);
  }
  expect(refused).toEqual([]);
});

test('every route returns 401 for a missing, a wrong and an overlong key', async () => {
  await unchanged(async () => {
    for (const route of guardedRoutes(api)) {
      for (const key of [undefined, 'berth_wrong', 'x'.repeat(600)]) {
        const answer = await send(route, owned, key === undefined ? {} : { 'x-api-key': key });
        expect(answer, nameOf(route)).toMatchObject({ status: 401, detail: expect.any(String) });
      }
    }
  });
});

test('every route returns 403 with the missing scope', async () => {
  const clients = new Map<string, Client>();
  for (const route of guardedRoutes(api)) {
    const others = ALL_SCOPES.filter((scope) => !scopesOf(route).includes(scope) && scope !== 'admin');
    clients.set(nameOf(route), await api.client(owner.tenantId, others));
  }
  const none = await api.client(owner.tenantId, []);
  await unchanged(async () => {
    for (const route of guardedRoutes(api)) {
      for (const client of [clients.get(nameOf(route)) ?? none, none]) {
        const answer = await send(route, owned, as(client));
        expect(answer, nameOf(route)).toMatchObject({
          status: 403,
          detail: expect.stringContaining(scopesOf(route)[0] ?? 'no scope'),
        });
      }
    }
  });
});

test('every route returns 404 for ids of another tenant, as for unknown ids, and changes nothing', async () => {
  const stranger = await api.tenant(ALL_SCOPES.filter((scope) => scope !== 'admin'));
  const strangerIds = await makeIds(api, await api.client(stranger.tenantId, ALL_SCOPES));
  const admin = await api.client(stranger.tenantId, ALL_SCOPES);
  // A person belongs to no tenant.
  const ofPlatform = ['tenant_id', 'person_id'];
  const routes = guardedRoutes(api).filter(
    (route) => hasIds(route) && !parametersOf(route).some((name) => ofPlatform.includes(name)),
  );
  expect(routes.length).toBeGreaterThan(15);
  await unchanged(async () => {
    for (const route of routes) {
      const client = isAdmins(route) ? admin : stranger;
      const foreign = await send(route, owned, as(client));
      expect(foreign.status, `${nameOf(route)}: ${foreign.text}`).toBe(404);
      const unknown = await send(route, {}, as(client));
      expect(unknown, nameOf(route)).toEqual(foreign);
      // For example an own deployment with a revision of another tenant.
      const names = idsOf(route);
      for (const name of names.length > 1 ? names : []) {
        const mixed = await send(route, { ...strangerIds, [name]: owned[name] ?? '' }, as(client));
        expect(mixed.status, `${nameOf(route)} with another's ${name}`).toBe(404);
      }
    }
  });
});

test('every route with a tenant id requires admin and returns 404 for an unknown id', async () => {
  const routes = guardedRoutes(api).filter((route) => parametersOf(route).includes('tenant_id'));
  await unchanged(async () => {
    for (const route of routes) {
      expect(scopesOf(route), nameOf(route)).toEqual(['admin']);
      expect((await send(route, {}, as(owner))).status, nameOf(route)).toBe(404);
    }
  });
});

test('no list and no other response without an id shows an object of another tenant', async () => {
  const stranger = await api.tenant();
  const routes = guardedRoutes(api).filter(
    (route) =>
      route.method === 'GET' && parametersOf(route).length === 0 && !route.url.startsWith('/v2/tenants'),
  );
  expect(routes.length).toBeGreaterThan(3);
  for (const route of routes) {
    const answer = await send(route, {}, as(stranger));
    // An API key is no access token.
    expect(answer.status, nameOf(route)).toBe(nameOf(route) === 'GET /v2/auth/token' ? 409 : 200);
    for (const [name, id] of Object.entries(owned)) {
      if (id === PLATFORM_LISTENER_ID) continue;
      expect(answer.text, `${nameOf(route)} shows another's ${name}`).not.toContain(id);
    }
  }
});

test('every route accepts another tenant in X-Tenant-Id only from admins, and rejects an unknown or invalid one', async () => {
  const stranger = await api.tenant(ALL_SCOPES.filter((scope) => scope !== 'admin'));
  await unchanged(async () => {
    for (const route of guardedRoutes(api)) {
      const named = (client: Client, tenant: string) =>
        send(route, owned, { ...as(client), 'x-tenant-id': tenant });
      expect((await named(owner, UNKNOWN_ID)).status, nameOf(route)).toBe(404);
      expect((await named(owner, 'none')).status, nameOf(route)).toBe(422);
      if (isAdmins(route)) continue;
      expect((await named(stranger, owner.tenantId)).status, nameOf(route)).toBe(404);
    }
  });
});

test('ids of another tenant in a body or a query are rejected or treated as unknown', async () => {
  const stranger = await api.tenant();
  const own = await makeIds(api, stranger);
  const post = (source_config: object) =>
    stranger.call<{ detail: unknown }>('POST', '/v2/deployments', createBody({ source_config }));
  await unchanged(async () => {
    expect(await post({ listener_id: owned['listener_id'] })).toMatchObject({
      status: 400,
      body: { detail: [{ loc: ['body', 'source_config', 'listener_id'] }] },
    });
    const tagged = await stranger.call('PUT', `/v2/deployments/${own['deployment_id']}/tag-values`, {
      tag_value_ids: [owned['tag_value_id'] ?? owned['tag_key_id']],
    });
    expect(tagged.status).toBe(400);
    const filtered = await stranger.call<{ resources: object[] }>(
      'GET',
      `/v2/deployments?deployment_ids=${owned['deployment_id']}`,
    );
    expect(filtered.body.resources).toEqual([]);
    const bulk = guardedRoutes(api).find((route) => nameOf(route) === 'DELETE /v2/deployments');
    if (bulk !== undefined) {
      const answer = await send(bulk, owned, as(stranger));
      expect(answer.status).toBe(207);
      expect(answer.text).toContain('404');
    }
  });
});

test('every route returns 422 with the location of an invalid id', async () => {
  for (const route of guardedRoutes(api).filter(hasIds)) {
    for (const name of idsOf(route)) {
      const answer = await send(route, { ...owned, [name]: 'none' }, as(owner));
      expect(answer, nameOf(route)).toMatchObject({ status: 422, detail: [{ loc: ['path', name] }] });
    }
  }
});

test('every route returns 422 for an unknown query parameter', async () => {
  for (const route of guardedRoutes(api)) {
    // Listeners of a later version may say more.
    if (scopesOf(route).includes('listeners:run')) continue;
    const { url, payload, headers } = requestOf(route, owned);
    const more = { ...route, url: `${url}${url.includes('?') ? '&' : '?'}nonsense=1` };
    const response = await api.app.inject({
      method: route.method as 'GET',
      url: more.url,
      headers: { ...as(owner), ...headers },
      ...(payload === undefined ? {} : { payload }),
    });
    expect(response.statusCode, nameOf(route)).toBe(422);
    expect(response.json(), nameOf(route)).toMatchObject({ detail: [{ loc: ['query', 'nonsense'] }] });
  }
});
