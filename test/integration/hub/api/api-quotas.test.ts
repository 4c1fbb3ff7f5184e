/** Tenant quotas, held at every write, also where many come at once. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { resolvePolicy } from '../../../../src/domain/policy/policy.ts';
import {
  ALL_SCOPES,
  type ApiFixture,
  type Client,
  create,
  createBody,
  type Deployment,
  type Issue,
  startApi,
} from '../../harness/api.ts';
import { newTenant } from '../../harness/store.ts';

interface Usage {
  quotas: Record<string, number | null>;
  usage: { deployments: number; being_deleted: number; cpu: number; memory_mb: number; storage_gi: number };
}

let api: ApiFixture;
let admin: Client;
beforeAll(async () => {
  api = await startApi({ deps: { deletionGraceSeconds: 3600 } });
  admin = await api.client(null, ALL_SCOPES);
});
afterAll(() => api.stop());

/** A client of a new tenant with these quotas. */
async function bounded(quotas: object): Promise<Client> {
  const { tenantId } = await newTenant(api.store);
  await setQuotas(tenantId, quotas);
  return api.client(tenantId, ALL_SCOPES);
}

async function setQuotas(tenantId: string, quotas: object): Promise<void> {
  const answer = await admin.call('PATCH', `/v2/tenants/${tenantId}`, { quotas });
  expect(answer.status).toBe(200);
}

const sized = (spec: object, more: object = {}) =>
  createBody({ source_config: { resource_spec: spec }, ...more });
const post = (client: Client, spec: object, more: object = {}) =>
  client.call<{ id: string; detail: Issue[] }>('POST', '/v2/deployments', sized(spec, more));
const patch = (client: Client, id: string, spec: object, query = '') =>
  client.call<{ detail: Issue[] }>('PATCH', `/v2/deployments/${id}${query}`, {
    source_config: { resource_spec: spec },
  });
const usage = async (client: Client) => (await client.call<Usage>('GET', '/v2/usage')).body;

/** With the database's core and the cache's half, 2.5 cores. */
const ONE = { cpu: 1 };

describe('a POST', () => {
  test('returns 400 with field and arithmetic above a quota, and writes nothing', async () => {
    const client = await bounded({ cpu: 4 });
    await create(client, { source_config: { resource_spec: ONE } });
    const before = await api.rowCounts();
    expect((await post(client, { cpu: 2 })).body.detail).toEqual([
      {
        loc: ['body', 'source_config', 'resource_spec', 'cpu'],
        msg: 'the tenant would use 6 of 4 cores: 2.5 by other deployments, 3.5 by this deployment (api 2, database 1, cache 0.5)',
        type: 'quota_cpu',
      },
    ]);
    const dry = await client.call('POST', '/v2/deployments?dry_run=true', sized({ cpu: 2 }));
    expect(dry.status).toBe(400);
    expect(await api.rowCounts()).toEqual(before);
    // The tenant's own database and cache are not ours to count.
    const secrets = ['DATABASE_URI_CUSTOM', 'CACHE_URI_CUSTOM'].map((name) => ({
      name,
      value: 'postgres://user@db.invalid/x',
    }));
    expect((await post(client, ONE, { secrets })).status).toBe(201);
    expect((await usage(client)).usage).toMatchObject({ deployments: 2, cpu: 3.5, storage_gi: 10 });
  });

  test('is also limited by the quotas for deployments, memory and storage', async () => {
    const quotas = { deployments: 1, memory_mb: 2560, storage_gi: 10 };
    const client = await bounded(quotas);
    expect((await post(client, { db_storage_gi: 11, memory_mb: 1025 })).body.detail).toMatchObject([
      { type: 'quota_memory_mb' },
      { type: 'quota_storage_gi', loc: ['body', 'source_config', 'resource_spec', 'db_storage_gi'] },
    ]);
    expect((await post(client, {})).status).toBe(201);
    expect((await post(client, { max_scale: 0, db_storage_gi: 1 })).body.detail).toMatchObject([
      { type: 'quota_deployments', loc: ['body'] },
      { type: 'quota_storage_gi' },
    ]);
    expect(await usage(client)).toEqual({
      quotas: { cpu: null, ...quotas },
      usage: { deployments: 1, being_deleted: 0, cpu: 2.5, memory_mb: 2560, storage_gi: 10 },
    });
  });

  test('succeeds exactly as often as fits when many arrive at once', async () => {
    const client = await bounded({ deployments: 3, cpu: 100 });
    const answers = await Promise.all(Array.from({ length: 12 }, () => post(client, ONE)));
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(3);
    expect(answers.filter(({ status }) => status === 400)).toHaveLength(9);
    expect((await usage(client)).usage.deployments).toBe(3);
    const cores = await bounded({ cpu: 5 });
    const both = await Promise.all([post(cores, { cpu: 2 }), post(cores, { cpu: 2 })]);
    expect(both.map(({ status }) => status).sort()).toEqual([201, 400]);
  });

  test('is not affected by the quota of another tenant', async () => {
    const [full, free] = [await bounded({ deployments: 0 }), await bounded({})];
    expect((await post(full, ONE)).status).toBe(400);
    expect((await post(free, ONE)).status).toBe(201);
  });

  test('returns the first response for a repeated Idempotency-Key although the quota is full', async () => {
    const client = await bounded({ deployments: 1 });
    const body = sized(ONE);
    const headers = { 'idempotency-key': 'once' };
    const first = await client.call<Deployment>('POST', '/v2/deployments', body, headers);
    const again = await client.call<Deployment>('POST', '/v2/deployments', body, headers);
    expect([first.status, again.status, again.body.id]).toEqual([201, 201, first.body.id]);
  });
});

describe('a PATCH', () => {
  test('is limited like a POST, and does not count the previous share of the deployment', async () => {
    const client = await bounded({ cpu: 5 });
    const { id } = await create(client, { source_config: { resource_spec: { cpu: 2 } } });
    expect((await patch(client, id, { cpu: 3.5 })).status).toBe(200);
    const refused = await patch(client, id, { max_scale: 2 });
    expect(refused.body.detail[0]).toMatchObject({
      msg: 'the tenant would use 8.5 of 5 cores: 0 by other deployments, 8.5 by this deployment (api 2 × 3.5, database 1, cache 0.5)',
    });
    expect((await patch(client, id, { max_scale: 2 }, '?dry_run=true')).status).toBe(400);
    expect((await usage(client)).usage.cpu).toBe(5);
  });

  test('can lower the usage or keep it above the quota, but cannot raise it', async () => {
    const client = await bounded({});
    const { id } = await create(client, { source_config: { resource_spec: { cpu: 8 } } });
    await setQuotas(client.tenantId, { cpu: 1, memory_mb: 1, storage_gi: 1, deployments: 0 });
    expect((await patch(client, id, { cpu: 6 })).status).toBe(200);
    expect((await patch(client, id, { cpu: 6.001 })).status).toBe(400);
    expect(
      (await patch(client, id, { cpu: 5, memory_mb: 1025 })).body.detail.map(({ type }) => type),
    ).toEqual(['quota_memory_mb']);
    expect((await patch(client, id, { labels: { team: 'a' } })).status).toBe(200);
    const image = { source_revision_config: { image_uri: 'registry.example.com/shop/web:2.0.0' } };
    expect((await client.call('PATCH', `/v2/deployments/${id}`, image)).status).toBe(200);
    expect((await patch(client, id, { max_scale: 0 })).status).toBe(200);
    expect((await usage(client)).usage).toMatchObject({
      deployments: 1,
      cpu: 0,
      memory_mb: 0,
      storage_gi: 10,
    });
    expect((await patch(client, id, { max_scale: null })).status).toBe(400);
  });

  test('succeeds only as often as fits when several deployments change at once', async () => {
    const client = await bounded({ cpu: 12.5 });
    const ids: string[] = [];
    for (let index = 0; index < 4; index += 1) ids.push((await post(client, ONE)).body.id);
    // Each asks for one core more; there is room for two and a half.
    const answers = await Promise.all(ids.map((id) => patch(client, id, { cpu: 2 })));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 200, 400, 400]);
    expect((await usage(client)).usage.cpu).toBe(12);
  });

  test('never exceeds the quota together with POSTs that run at the same time', async () => {
    const client = await bounded({ cpu: 10 });
    const ids = (await Promise.all([post(client, ONE), post(client, ONE)])).map(({ body }) => body.id);
    const work = Array.from({ length: 24 }, (_, index) => {
      if (index % 3 === 0) return post(client, ONE);
      return patch(client, ids[index % 2] ?? '', { cpu: 1 + (index % 5) });
    });
    const answers = await Promise.all(work);
    expect(answers.filter(({ status }) => ![200, 201, 400].includes(status))).toEqual([]);
    expect((await usage(client)).usage.cpu).toBeLessThanOrEqual(10);
  });
});

describe('a deployment that is being deleted', () => {
  test('counts its volume until that is removed, and must fit the quotas to be restored', async () => {
    const client = await bounded({ deployments: 1 });
    const { id } = await create(client);
    expect((await client.call('DELETE', `/v2/deployments/${id}`)).status).toBe(204);
    expect((await usage(client)).usage).toEqual({
      deployments: 0,
      being_deleted: 1,
      cpu: 0,
      memory_mb: 0,
      storage_gi: 10,
    });
    const other = await create(client);
    const restore = () => client.call<{ detail: unknown }>('POST', `/v2/deployments/${id}/restore`);
    expect(await restore()).toMatchObject({ status: 400, body: { detail: [{ type: 'quota_deployments' }] } });
    await client.call('DELETE', `/v2/deployments/${other.id}`);
    expect((await restore()).status).toBe(200);
  });

  test('counts its storage, so that repeated creation and deletion cannot exceed the quota', async () => {
    const client = await bounded({ storage_gi: 25 });
    for (let index = 0; index < 2; index += 1) {
      const { id } = await create(client);
      await client.call('DELETE', `/v2/deployments/${id}`);
    }
    expect((await post(client, ONE)).body.detail).toMatchObject([
      { type: 'quota_storage_gi', msg: expect.stringContaining('30 of 25 GiB of storage: 20 by other') },
    ]);
    // The cluster is clean of them.
    await api.store.sql('DELETE FROM deployments WHERE tenant_id = $1', [client.tenantId]);
    expect((await post(client, ONE)).status).toBe(201);
  });

  test('counts toward a limit on deletions in progress, which is at least ten', async () => {
    const client = await bounded({ deployments: 2 });
    for (let index = 0; index < 12; index += 1) {
      const { id } = await create(client);
      await client.call('DELETE', `/v2/deployments/${id}`);
    }
    expect((await post(client, ONE)).body.detail).toMatchObject([
      { type: 'quota_deployments', msg: expect.stringContaining('including deployments that are being deleted') },
    ]);
  });

  test('is measured for its volume alone when its share is not stored', async () => {
    const client = await bounded({});
    const { id } = await create(client);
    await client.call('DELETE', `/v2/deployments/${id}`);
    await api.store.sql(
      'UPDATE deployments SET quota_cpu_m = NULL, quota_memory_mb = NULL, quota_storage_gi = NULL WHERE id = $1',
      [id],
    );
    const counted = { deployments: 0, being_deleted: 1, cpu: 0, memory_mb: 0, storage_gi: 10 };
    expect((await usage(client)).usage).toEqual(counted);
    expect((await usage(client)).usage).toEqual(counted);
  });
});

describe('the volume of a deployment', () => {
  const custom = [{ name: 'DATABASE_URI_CUSTOM', value: 'postgres://user@db.invalid/x' }];
  const change = (client: Client, id: string, body: object) =>
    client.call('PATCH', `/v2/deployments/${id}`, body);

  test.each([{ storage_gi: 100 }, {}])(
    'still counts when the deployment switches to a custom database: quotas %o',
    async (quotas) => {
      const client = await bounded(quotas);
      const { id } = await create(client, { source_config: { resource_spec: { db_storage_gi: 40 } } });
      expect((await change(client, id, { secrets: custom })).status).toBe(200);
      expect((await usage(client)).usage.storage_gi).toBe(40);
      const image = { source_revision_config: { image_uri: 'registry.example.com/shop/web:2.0.0' } };
      expect((await change(client, id, image)).status).toBe(200);
      expect((await usage(client)).usage.storage_gi).toBe(40);
      expect((await change(client, id, { secrets: [] })).status).toBe(200);
      expect((await usage(client)).usage.storage_gi).toBe(40);
    },
  );

  const sized = (db_storage_gi: number, secrets?: object[]) => ({
    source_config: { resource_spec: { db_storage_gi } },
    ...(secrets === undefined ? {} : { secrets }),
  });
  const shrinks = { status: 400, body: { detail: [{ type: 'storage_shrinks' }] } };

  test('keeps its real size as minimum and as usage while the deployment uses a custom database', async () => {
    const client = await bounded({ storage_gi: 100 });
    const { id } = await create(client, sized(40));
    expect((await change(client, id, sized(90, custom))).status).toBe(200);
    expect((await usage(client)).usage.storage_gi).toBe(40);
    expect(await change(client, id, sized(39))).toMatchObject(shrinks);
    expect(await change(client, id, sized(39, []))).toMatchObject(shrinks);
    expect((await change(client, id, sized(50))).status).toBe(200);
    expect((await change(client, id, sized(40, []))).status).toBe(200);
    expect((await usage(client)).usage.storage_gi).toBe(40);
  });

  test('has no minimum size before it exists, so that a size above the quota can be lowered', async () => {
    const client = await bounded({ storage_gi: 100 });
    const { id } = await create(client, sized(1024, custom));
    expect(await change(client, id, { secrets: [] })).toMatchObject({
      status: 400,
      body: { detail: [{ type: 'quota_storage_gi' }] },
    });
    expect((await change(client, id, sized(5))).status).toBe(200);
    expect((await change(client, id, sized(10, []))).status).toBe(200);
    expect((await usage(client)).usage.storage_gi).toBe(10);
    expect(await change(client, id, sized(9))).toMatchObject(shrinks);
  });

  test('still counts when its share was not stored', async () => {
    const client = await bounded({});
    const { id } = await create(client, { source_config: { resource_spec: { db_storage_gi: 40 } } });
    await api.store.sql(
      'UPDATE deployments SET quota_cpu_m = NULL, quota_memory_mb = NULL, quota_storage_gi = NULL WHERE id = $1',
      [id],
    );
    expect((await change(client, id, { secrets: custom })).status).toBe(200);
    expect((await usage(client)).usage.storage_gi).toBe(40);
  });

  test('still counts when CPU and memory are measured again', async () => {
    const client = await bounded({});
    const { id } = await create(client, { source_config: { resource_spec: { db_storage_gi: 40 } } });
    expect((await change(client, id, { secrets: custom })).status).toBe(200);
    const { usage: before } = await usage(client);
    await api.store.sql(
      'UPDATE deployments SET quota_cpu_m = NULL, quota_memory_mb = NULL WHERE tenant_id = $1',
      [client.tenantId],
    );
    expect((await usage(client)).usage).toEqual({ ...before, storage_gi: 40 });
    expect((await usage(client)).usage).toEqual(before);
  });
});

describe('quota shares that are not stored', () => {
  test('are computed once from spec and secrets, as after an upgrade', async () => {
    const client = await bounded({});
    for (let index = 0; index < 3; index += 1) await post(client, ONE);
    const secrets = [{ name: 'DATABASE_URI_CUSTOM', value: 'postgres://user@db.invalid/x' }];
    await post(client, ONE, { secrets });
    const { usage: before } = await usage(client);
    const unmeasure = () =>
      api.store.sql(
        'UPDATE deployments SET quota_cpu_m = NULL, quota_memory_mb = NULL WHERE tenant_id = $1',
        [client.tenantId],
      );
    await unmeasure();
    expect((await usage(client)).usage).toEqual(before);
    expect(before.cpu).toBe(3 * 2.5 + 1.5);
    await unmeasure();
    await setQuotas(client.tenantId, { cpu: 10 });
    expect((await post(client, ONE)).body.detail[0]?.msg).toContain('9 by other deployments');
    expect((await usage(client)).usage).toEqual(before);
  });

  test('are computed while the deployments change', async () => {
    const client = await bounded({});
    const made = await Promise.all(Array.from({ length: 6 }, () => post(client, ONE)));
    await setQuotas(client.tenantId, { cpu: 1000 });
    await api.store.sql('UPDATE deployments SET quota_cpu_m = NULL WHERE tenant_id = $1', [client.tenantId]);
    const answers = await Promise.all([
      ...made.map(({ body }) => patch(client, body.id, { cpu: 2 })),
      ...made.map(() => post(client, ONE)),
      ...made.map(() => usage(client)),
    ]);
    const statuses = answers.map((answer) => ('status' in answer ? answer.status : 200));
    expect(statuses.filter((status) => status >= 400)).toEqual([]);
    expect((await usage(client)).usage).toMatchObject({ deployments: 12, cpu: 6 * 3.5 + 6 * 2.5 });
  });
});

describe("the policy's quotas", () => {
  test('apply to a tenant without quotas of its own, which have precedence even when they are null', async () => {
    const policy = resolvePolicy('self_hosted', { tenant_quotas: { deployments: 1 } });
    const strict = await startApi({ deps: { policy } });
    try {
      const client = await strict.tenant();
      await create(client);
      expect((await post(client, ONE)).body.detail[0]?.type).toBe('quota_deployments');
      const root = await strict.client(null, ALL_SCOPES);
      const path = `/v2/tenants/${client.tenantId}`;
      await root.call('PATCH', path, { quotas: { deployments: 2 } });
      expect((await post(client, ONE)).status).toBe(201);
      expect((await post(client, ONE)).status).toBe(400);
      await root.call('PATCH', path, { quotas: { deployments: null } });
      expect((await post(client, ONE)).status).toBe(201);
      expect((await usage(client)).quotas).toMatchObject({ deployments: null });
    } finally {
      await strict.stop();
    }
  });

  test('do not serialize the writes of a tenant when nothing is limited', async () => {
    const client = await bounded({});
    // Locks the tenant as a quota check would.
    await api.store.database.platform.transaction(async (transaction) => {
      await transaction.query('SELECT 1 FROM tenants WHERE id = $1 FOR NO KEY UPDATE', [client.tenantId]);
      expect((await post(client, ONE)).status).toBe(201);
    });
  });
});
