/** /v2/tenants and the history of the whole tenant: made, renamed, bounded, deleted, also beside concurrent changes. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ALL_SCOPES, type ApiFixture, type Client, create, startApi, uniqueName } from '../../harness/api.ts';

interface Tenant {
  id: string;
  name: string;
  quotas: Record<string, number | null>;
  quotas_in_force: Record<string, number | null>;
}
interface AuditEvent {
  tenant_id: string | null;
  actor: { kind: string; name: string };
  reason: string;
  message: string;
  details: Record<string, unknown>;
}
interface List<T> {
  resources: T[];
  offset: number;
}

let api: ApiFixture;
/** A key of the platform with all scopes. */
let admin: Client;
beforeAll(async () => {
  api = await startApi();
  admin = await api.client(null, ALL_SCOPES);
});
afterAll(() => api.stop());

const url = '/v2/tenants';

async function makeTenant(more: object = {}): Promise<Tenant> {
  const answer = await admin.call<Tenant>('POST', url, { name: uniqueName('tenant'), ...more });
  expect(answer.status, JSON.stringify(answer.body)).toBe(201);
  return answer.body;
}

const for_ = ({ id }: { id: string }) => ({ 'x-tenant-id': id });

async function events(tenantId: string): Promise<AuditEvent[]> {
  const answer = await admin.call<List<AuditEvent>>('GET', '/v2/events?limit=100');
  return answer.body.resources.filter(({ tenant_id }) => tenant_id === tenantId);
}

describe('a tenant', () => {
  test('is created, found, listed and recorded in the history', async () => {
    const tenant = await makeTenant({ quotas: { cpu: 7.5, deployments: null } });
    expect(tenant).toMatchObject({
      quotas: { cpu: 7.5, deployments: null },
      quotas_in_force: { cpu: 7.5, deployments: null, memory_mb: null, storage_gi: null },
    });
    expect((await admin.call('GET', `${url}/${tenant.id}`)).body).toEqual(tenant);
    const named = await admin.call<List<Tenant>>('GET', `${url}?name=${tenant.name}`);
    expect(named.body).toEqual({ resources: [tenant], offset: 1 });
    const part = await admin.call<List<Tenant>>('GET', `${url}?name_contains=${tenant.name.slice(2)}`);
    expect(part.body.resources).toEqual([tenant]);
    expect((await admin.call<List<Tenant>>('GET', `${url}?name_contains=%25`)).body.resources).toEqual([]);
    expect(await events(tenant.id)).toMatchObject([
      { reason: 'TenantCreated', actor: { kind: 'api_key', name: 'test' }, details: { name: tenant.name } },
    ]);
  });

  test('has a unique name, and further requests for it return 409, also when many arrive at once', async () => {
    const name = uniqueName('race');
    const answers = await Promise.all(Array.from({ length: 8 }, () => admin.call('POST', url, { name })));
    expect(answers.map(({ status }) => status).sort()).toEqual([201, ...Array(7).fill(409)]);
    const other = await makeTenant();
    const renamed = await admin.call('PATCH', `${url}/${other.id}`, { name });
    expect(renamed).toMatchObject({ status: 409, body: { detail: expect.stringContaining('name') } });
  });

  test.each([
    [{}, ['body', 'name']],
    [{ name: '' }, ['body', 'name']],
    [{ name: '   ' }, ['body', 'name']],
    [{ name: 'x'.repeat(129) }, ['body', 'name']],
    [{ name: 'a\nb' }, ['body', 'name']],
    [{ name: 'ok', id: 1 }, ['body', 'id']],
    [{ name: 'ok', quotas: { cpu: -1 } }, ['body', 'quotas', 'cpu']],
    [{ name: 'ok', quotas: { deployments: 0.5 } }, ['body', 'quotas', 'deployments']],
    [{ name: 'ok', quotas: { pods: 1 } }, ['body', 'quotas', 'pods']],
  ])('is rejected with 422 that names the field for the body %j', async (body, loc) => {
    const before = await api.rowCounts();
    expect(await admin.call('POST', url, body)).toMatchObject({ status: 422, body: { detail: [{ loc }] } });
    expect(await api.rowCounts()).toEqual(before);
  });

  test('is renamed and gets quotas, and a request without a difference records no event', async () => {
    const tenant = await makeTenant({ quotas: { cpu: 1 } });
    const path = `${url}/${tenant.id}`;
    expect((await admin.call<Tenant>('PATCH', path, {})).body).toEqual(tenant);
    expect((await admin.call<Tenant>('PATCH', path, { name: tenant.name, quotas: { cpu: 1 } })).body).toEqual(
      tenant,
    );
    const name = uniqueName('new');
    const changed = await admin.call<Tenant>('PATCH', path, { name, quotas: { storage_gi: 3 } });
    expect(changed.body).toMatchObject({ name, quotas: { storage_gi: 3 } });
    expect((await admin.call<Tenant>('PATCH', path, { quotas: null })).body).toMatchObject({
      name,
      quotas: {},
    });
    const history = await events(tenant.id);
    expect(history.map(({ reason }) => reason)).toEqual(['TenantChanged', 'TenantChanged', 'TenantCreated']);
    expect(history[1]).toMatchObject({
      message: 'Changed: name, quotas.',
      details: {
        before: { name: tenant.name, quotas: { cpu: 1 } },
        after: { name, quotas: { storage_gi: 3 } },
      },
    });
  });
});

describe('deletion of a tenant', () => {
  test('returns 409 with the counts while the tenant has deployments or listeners', async () => {
    const tenant = await makeTenant();
    const inside = await api.client(tenant.id, ALL_SCOPES);
    await create(inside);
    await create(inside);
    const listener = await inside.call<{ id: string }>('POST', '/v2/listeners', { compute_id: 'c' });
    expect(listener.status).toBe(201);
    const refused = await admin.call('DELETE', `${url}/${tenant.id}`);
    expect(refused).toMatchObject({
      status: 409,
      body: { detail: expect.stringContaining('2 deployments and 1 listener') },
    });
    expect((await inside.call('GET', '/v2/usage')).status).toBe(200);
  });

  test('removes keys, tags, integrations and tracing projects, and keeps the history', async () => {
    const tenant = await makeTenant();
    const inside = await api.client(tenant.id, ALL_SCOPES);
    const deployment = await create(inside);
    const tag = await inside.call<{ id: string }>('POST', '/v2/tag-keys', { key: 'team' });
    await inside.call('POST', `/v2/tag-keys/${tag.body.id}/values`, { value: 'red' });
    // Its cluster is clean.
    await inside.call('DELETE', `/v2/deployments/${deployment.id}`);
    await api.store.sql('DELETE FROM deployments WHERE id = $1', [deployment.id]);
    expect((await admin.call('DELETE', `${url}/${tenant.id}`)).status).toBe(204);
    expect((await admin.call('GET', `${url}/${tenant.id}`)).status).toBe(404);
    expect((await admin.call('DELETE', `${url}/${tenant.id}`)).status).toBe(404);
    for (const table of ['api_keys', 'tag_keys', 'tag_values', 'tracing_projects', 'integrations']) {
      const rows = await api.store.sql(`SELECT 1 FROM ${table} WHERE tenant_id = $1`, [tenant.id]);
      expect(rows, table).toEqual([]);
    }
    const history = await events(tenant.id);
    expect(history[0]).toMatchObject({ reason: 'TenantDeleted', details: { name: tenant.name } });
    expect(history.map(({ reason }) => reason)).toEqual(
      expect.arrayContaining(['TenantCreated', 'Created', 'DeletionRequested', 'TracingProjectDeleted']),
    );
  });

  test('invalidates the keys of the tenant, including cached ones', async () => {
    const tenant = await makeTenant();
    const inside = await api.client(tenant.id, ALL_SCOPES);
    expect((await inside.call('GET', '/v2/usage')).status).toBe(200);
    expect((await admin.call('DELETE', `${url}/${tenant.id}`)).status).toBe(204);
    // For a moment the key is still known, but there is nothing that it could reach.
    expect((await inside.call('GET', '/v2/usage')).status).toBe(404);
    const late = await inside.call('POST', '/v2/tag-keys', { key: 'late' });
    expect(late).toMatchObject({ status: 404, body: { detail: 'The tenant does not exist.' } });
    await expect
      .poll(async () => (await inside.call('GET', '/v2/usage')).status, { timeout: 20_000, interval: 500 })
      .toBe(401);
  });

  test('returns 409 for a key of the same tenant', async () => {
    const tenant = await makeTenant();
    const own = await api.client(tenant.id, ALL_SCOPES);
    const refused = await own.call('DELETE', `${url}/${tenant.id}`);
    expect(refused).toMatchObject({ status: 409, body: { detail: expect.stringContaining('another key') } });
  });

  test('never leaves a deployment without its tenant when deployments are created at the same time', async () => {
    for (let round = 0; round < 6; round += 1) {
      const tenant = await makeTenant();
      const inside = await api.client(tenant.id, ALL_SCOPES);
      const [deleted, ...made] = await Promise.all([
        admin.call('DELETE', `${url}/${tenant.id}`),
        ...Array.from({ length: 3 }, () =>
          inside.call('POST', '/v2/deployments', {
            name: uniqueName(),
            source: 'external_image',
            source_config: {},
            source_revision_config: { image_uri: 'registry.example/web:1' },
            secrets: [],
          }),
        ),
      ]);
      const statuses = made.map(({ status }) => status);
      if (deleted.status === 204) expect(statuses.every((status) => [401, 404].includes(status))).toBe(true);
      else expect([deleted.status, statuses.includes(201)]).toEqual([409, true]);
      const rows = await api.store.sql<{ n: number }>(
        'SELECT count(*)::int AS n FROM deployments WHERE tenant_id = $1',
        [tenant.id],
      );
      expect(rows[0]?.n).toBe(statuses.filter((status) => status === 201).length);
    }
  });
});

describe('the history of a tenant', () => {
  test('contains everything of the tenant and nothing of others, for keys that may read its deployments', async () => {
    const [one, other] = [await makeTenant(), await makeTenant()];
    const reader = await api.client(one.id, ['deployments:read']);
    const writer = await api.client(one.id, ['deployments:read', 'deployments:write']);
    await create(writer);
    await admin.call('PATCH', `${url}/${one.id}`, { quotas: { cpu: 9 } });
    await admin.call('PATCH', `${url}/${other.id}`, { quotas: { cpu: 9 } });
    const { body } = await reader.call<List<AuditEvent>>('GET', '/v2/events');
    expect(body.resources.map(({ reason }) => reason)).toEqual(['TenantChanged', 'Created', 'TenantCreated']);
    expect(new Set(body.resources.map(({ tenant_id }) => tenant_id))).toEqual(new Set([one.id]));
    const second = await reader.call<List<AuditEvent>>('GET', '/v2/events?limit=1&offset=1');
    expect(second.body).toEqual({ resources: [body.resources[1]], offset: 2, cursor: expect.any(String) });
    const named = await admin.call<List<AuditEvent>>('GET', '/v2/events', undefined, for_(one));
    expect(named.body).toEqual(body);
  });

  test('requires X-Tenant-Id from a key of the platform without admin', async () => {
    const platform = await api.client(null, ['deployments:read']);
    expect(await platform.call('GET', '/v2/events')).toMatchObject({
      status: 422,
      body: { detail: [{ loc: ['header', 'X-Tenant-Id'] }] },
    });
  });
});

describe('the policy', () => {
  interface Policy {
    hosting: string;
    pod_security: string;
    caps: Record<string, number>;
    access?: { groups: object[] };
  }

  test('is shown with its defaults, and with the roles of people only to admins', async () => {
    const own = await makeTenant();
    const shown = await admin.call<Policy>('GET', '/v2/policy');
    expect(shown.status, JSON.stringify(shown.body)).toBe(200);
    expect(shown.body).toMatchObject({ hosting: 'self_hosted', pod_security: 'baseline' });
    expect(shown.body.caps['scale']).toBe(1000);
    expect(shown.body.access).toEqual({ groups: [], workload_issuers: [] });
    const viewer = await api.client(own.id, ['deployments:read']);
    const seen = await viewer.call<Policy>('GET', '/v2/policy');
    expect(seen.body).toEqual({ ...shown.body, access: undefined });
    const listener = await api.client(own.id, ['listeners:run']);
    expect((await listener.call('GET', '/v2/policy')).status).toBe(403);
  });
});
