/** Tenants and keys in detail; what holds for every route is in api-routes.test.ts. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { PLATFORM_LISTENER_ID } from '../../../../src/domain/deployment/source.ts';
import { hashApiKey, revokeApiKey } from '../../../../src/hub/store/tenancy/api-keys.ts';
import { ALL_SCOPES, type ApiFixture, type Client, createBody, startApi } from '../../harness/api.ts';

const UNKNOWN = '01890000-0000-7000-8000-00000000dead';
const INTERNAL = 'internal-key-of-this-process';

let api: ApiFixture;
let owner: Client;
let stranger: Client;

beforeAll(async () => {
  const internalKey = { hash: hashApiKey(INTERNAL), scopes: ['listeners:run'], platform: true } as const;
  api = await startApi({ deps: { internalKey } });
  owner = await api.tenant();
  stranger = await api.tenant(ALL_SCOPES.filter((scope) => scope !== 'admin'));
});
afterAll(() => api.stop());

describe('X-Tenant-Id', () => {
  const url = '/v2/deployments';
  const as = (client: Client, tenant: string) =>
    client.call('GET', url, undefined, { 'x-tenant-id': tenant });

  test('accepts the own tenant of the key', async () => {
    expect((await as(stranger, stranger.tenantId)).status).toBe(200);
    expect((await as(stranger, stranger.tenantId.toUpperCase())).status).toBe(200);
  });

  test('accepts another tenant only from an admin', async () => {
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

  test('returns 404 for an unknown tenant, and names the header for an invalid id', async () => {
    expect((await as(owner, UNKNOWN)).status).toBe(404);
    for (const tenant of ['none', ''])
      expect((await as(owner, tenant)).body).toMatchObject({ detail: [{ loc: ['header', 'X-Tenant-Id'] }] });
  });

  test('is required with a key of the platform', async () => {
    const platform = await api.client(null, ALL_SCOPES);
    expect((await platform.call('GET', url)).body).toMatchObject({
      detail: [{ loc: ['header', 'X-Tenant-Id'] }],
    });
    expect((await as(platform, owner.tenantId)).status).toBe(200);
  });
});

test('a revoked key is rejected within seconds although it was used before', async () => {
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

test('the listener of the same process needs no key in the database', async () => {
  const response = await api.app.inject({
    method: 'PUT',
    url: `/v2/listeners/${PLATFORM_LISTENER_ID}/lease`,
    headers: { 'x-api-key': INTERNAL },
    payload: { holder: 'a', version: '1', cluster_version: '1', rendering: null, epoch: null },
  });
  expect(response.statusCode).toBe(200);
  const other = await api.app.inject({ url: '/v2/deployments', headers: { 'x-api-key': INTERNAL } });
  expect(other.statusCode).toBe(403);
});
