/** Deployments without a database or a cache: what the API accepts, what a change does, and what counts. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { resolvePolicy } from '../../../../src/domain/policy/policy.ts';
import {
  type ApiFixture,
  type Client,
  create,
  createBody,
  type Deployment,
  type Issue,
  startApi,
} from '../../harness/api.ts';

interface DryRun extends Deployment {
  new_revision: boolean;
  pods_roll: boolean;
  effects: string[];
  changes: { field: string; before: unknown; after: unknown }[];
  detail: Issue[];
}
interface Usage {
  usage: { storage_gi: number; kept_storage_gi?: number; cpu: number };
}

const OFF = { database: { enabled: false }, cache: { enabled: false } };

let api: ApiFixture;
let client: Client;
beforeAll(async () => {
  api = await startApi();
  client = await api.tenant();
});
afterAll(() => api.stop());

const patch = (of: Client, id: string, source_config: object, query = '') =>
  of.call<DryRun>('PATCH', `/v2/deployments/${id}${query}`, { source_config });
const usageOf = async (of: Client) => (await of.call<Usage>('GET', '/v2/usage')).body.usage;

describe('a deployment without database and cache', () => {
  test('uses only what its app needs', async () => {
    const tenant = await api.tenant();
    const made = await create(tenant, { source_config: OFF });
    expect(made.source_config).toMatchObject(OFF);
    const usage = await usageOf(tenant);
    expect(usage).toMatchObject({ storage_gi: 0 });
    expect(usage).not.toHaveProperty('kept_storage_gi');
  });

  test('may have any number of database connections', async () => {
    const spec = { max_scale: 50, db_max_connections: 10 };
    const refused = await client.call(
      'POST',
      '/v2/deployments',
      createBody({ source_config: { resource_spec: spec } }),
    );
    expect(refused.status).toBe(400);
    await create(client, { source_config: { ...OFF, resource_spec: spec } });
  });
});

describe('a database that is switched off', () => {
  test('keeps its volume, which the dry run names and the usage counts', async () => {
    const tenant = await api.tenant();
    const made = await create(tenant, { source_config: { resource_spec: { db_storage_gi: 30 } } });
    const before = await usageOf(tenant);
    expect(before).toMatchObject({ storage_gi: 30 });
    const dry = await patch(tenant, made.id, { database: { enabled: false } }, '?dry_run=true');
    expect(dry.body).toMatchObject({
      new_revision: false,
      pods_roll: true,
      changes: [{ field: 'source_config.database.enabled', before: null, after: false }],
      effects: [expect.stringMatching(/^The database is switched off .* Its volume \(30 GiB\) is kept/)],
    });
    const changed = await patch(tenant, made.id, { database: { enabled: false } });
    expect(changed.body.latest_revision_id).toBe(made.latest_revision_id);
    const kept = await usageOf(tenant);
    expect(kept).toMatchObject({ storage_gi: 30, kept_storage_gi: 30 });
    expect(kept.cpu).toBeLessThan(before.cpu);
  });

  test('cannot return with a smaller volume, and returns with the kept one', async () => {
    const made = await create(client, { source_config: { resource_spec: { db_storage_gi: 30 } } });
    await patch(client, made.id, { database: { enabled: false } });
    const smaller = await patch(client, made.id, { database: null, resource_spec: { db_storage_gi: 20 } });
    expect(smaller).toMatchObject({ status: 400, body: { detail: [{ type: 'storage_shrinks' }] } });
    const dry = await patch(client, made.id, { database: { enabled: true } }, '?dry_run=true');
    expect(dry.body.effects).toEqual(['The database starts with the volume that was kept (30 GiB).']);
  });

  test('gives up its volume only when its owner confirms it', async () => {
    const tenant = await api.tenant();
    const made = await create(tenant, { source_config: { resource_spec: { db_storage_gi: 30 } } });
    const early = await patch(tenant, made.id, { database: { remove_volume: true } });
    expect(early).toMatchObject({
      status: 400,
      body: {
        detail: [{ loc: ['body', 'source_config', 'database', 'remove_volume'], type: 'volume_in_use' }],
      },
    });
    await patch(tenant, made.id, { database: { enabled: false } });
    const report = (gi: number | null) =>
      api.store.sql('UPDATE deployments SET volume_gi = $2 WHERE id = $1', [made.id, gi]);
    await report(32);
    const dry = await patch(tenant, made.id, { database: { remove_volume: true } }, '?dry_run=true');
    expect(dry.body).toMatchObject({
      pods_roll: false,
      effects: [expect.stringMatching(/^The volume of the database \(32 GiB\) is deleted with all its data/)],
    });
    await patch(tenant, made.id, { database: { remove_volume: true } });
    // It counts with the reported size, until the cluster reports that it is gone.
    expect(await usageOf(tenant)).toMatchObject({ storage_gi: 32, kept_storage_gi: 32 });
    await report(null);
    expect(await usageOf(tenant)).toMatchObject({ storage_gi: 0 });
    expect(await usageOf(tenant)).not.toHaveProperty('kept_storage_gi');
    const smaller = await patch(tenant, made.id, {
      database: { enabled: true },
      resource_spec: { db_storage_gi: null },
    });
    expect(smaller.status, JSON.stringify(smaller.body)).toBe(200);
    expect(smaller.body.source_config).toMatchObject({ database: { enabled: true } });
    expect(await usageOf(tenant)).toMatchObject({ storage_gi: 30 });
  });

  test('keeps the volume in every case when the policy says so', async () => {
    const policy = resolvePolicy('self_hosted', { database: { volume_removal: false } });
    const strict = await startApi({ deps: { policy } });
    try {
      const tenant = await strict.tenant();
      const body = createBody({ source_config: { database: { enabled: false, remove_volume: true } } });
      expect(await tenant.call('POST', '/v2/deployments', body)).toMatchObject({
        status: 400,
        body: { detail: [{ type: 'policy_volume_removal' }] },
      });
    } finally {
      await strict.stop();
    }
  });
});

test('switching database and cache off changes no pods when the deployment has its own', async () => {
  const secrets = ['DATABASE_URI_CUSTOM', 'CACHE_URI_CUSTOM'].map((name) => ({ name, value: 'x://a' }));
  const made = await create(client, { secrets });
  const dry = await patch(client, made.id, OFF, '?dry_run=true');
  expect(dry.body).toMatchObject({ pods_roll: false, effects: [] });
});
