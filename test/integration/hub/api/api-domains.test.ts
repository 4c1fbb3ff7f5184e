/** source_config.domains: stored in normal form, unique across tenants, with a token and a status, and within the quota. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { challengeOf } from '../../../../src/domain/app-hosts/challenge.ts';
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

interface Shown extends Deployment {
  source_config: Deployment['source_config'] & { domains?: string[]; custom_url: string | null };
  domains_status?: { host: string; dns: string; route: string; challenge: { name: string; value: string } }[];
}
interface DryRun extends Shown {
  changes: { field: string; before: unknown; after: unknown }[];
  new_revision: boolean;
  pods_roll: boolean;
  manifests: { kind: string; metadata: { name: string }; spec: Record<string, unknown> }[] | null;
}

let api: ApiFixture;
let client: Client;
let otherTenant: Client;
beforeAll(async () => {
  api = await startApi({ deps: { appDomain: 'apps.example.com' } });
  [client, otherTenant] = [await api.tenant(), await api.tenant()];
});
afterAll(() => api.stop());

const host = () => `${uniqueName('host')}.example.org`.toLowerCase();
const withDomains = (domains: unknown, more: object = {}) => ({ source_config: { domains, ...more } });
const made = async (domains: string[], by = client, more: object = {}) =>
  (await create(by, withDomains(domains, more))) as Shown;
const read = async (id: string, by = client) => (await by.call<Shown>('GET', `/v2/deployments/${id}`)).body;
const patch = (id: string, source_config: object, { by = client, query = '' } = {}) =>
  by.call<DryRun & { detail: Issue[] | string }>('PATCH', `/v2/deployments/${id}${query}`, { source_config });
const post = (by: Client, domains: unknown, more: object = {}) =>
  by.call<Shown & { detail: Issue[] | string }>(
    'POST',
    '/v2/deployments',
    createBody(withDomains(domains, more)),
  );
const inUse = (one: string, field = 'domains') =>
  `Another deployment uses the host ${one} (source_config.${field}).`;

describe('the field', () => {
  test('is absent from responses when it is absent, null or empty', async () => {
    for (const domains of [undefined, null, []]) {
      const { body } = await post(client, domains);
      expect(body.source_config).not.toHaveProperty('domains');
      expect(body).not.toHaveProperty('domains_status');
      expect(await read(body.id)).not.toHaveProperty('domains_status');
    }
  });

  test('is stored in normal form, and another spelling, an echo and an absent field change nothing', async () => {
    const [one, other] = [host(), host()];
    const shop = await made([`${one.toUpperCase()}.`, other]);
    expect(shop.source_config.domains).toEqual([one, other]);
    const { generation, source_config } = await read(shop.id);
    for (const sent of [{ domains: [one, `${other}.`] }, source_config, {}])
      expect((await patch(shop.id, sent)).body.generation).toBe(generation);
  });

  test('is replaced in place without a revision, and removed by null; a dry run says so', async () => {
    const [one, other] = [host(), host()];
    const shop = await made([one]);
    const preview = await patch(shop.id, { domains: [other] }, { query: '?dry_run=true' });
    expect(preview.body).toMatchObject({
      changes: [{ field: 'source_config.domains', before: [one], after: [other] }],
      new_revision: false,
      pods_roll: false,
    });
    expect((await read(shop.id)).source_config.domains).toEqual([one]);
    const changed = await patch(shop.id, { domains: [other] });
    expect(changed.body).toMatchObject({
      generation: shop.generation + 1,
      latest_revision_id: shop.latest_revision_id,
    });
    const cleared = await patch(shop.id, { domains: null });
    expect(cleared.body.source_config).not.toHaveProperty('domains');
    const again = await client.call<Shown>(
      'PUT',
      `/v2/deployments/by-name/${encodeURIComponent(shop.name)}`,
      {
        ...createBody(withDomains([one])),
        name: shop.name,
      },
    );
    expect(again.body.source_config.domains).toEqual([one]);
    const emptied = await client.call<Shown>(
      'PUT',
      `/v2/deployments/by-name/${encodeURIComponent(shop.name)}`,
      {
        ...createBody(),
        name: shop.name,
      },
    );
    expect(emptied.body.source_config).not.toHaveProperty('domains');
  });

  test.each([
    ['*.example.com', 422],
    ['shop', 422],
    ['https://shop.example.com', 422],
    ['shop.apps.example.com', 400],
    ['apps.example.com', 400],
  ])('is rejected with the item for %s', async (wrong, status) => {
    const answer = await post(client, [host(), wrong]);
    expect(answer.status).toBe(status);
    expect(answer.body.detail).toMatchObject([{ loc: ['body', 'source_config', 'domains', 1] }]);
  });

  test('cannot contain the host of custom_url', async () => {
    const one = host();
    const answer = await post(client, [one], { custom_url: `https://${one}/path` });
    expect(answer).toMatchObject({
      status: 400,
      body: { detail: [{ loc: ['body', 'source_config', 'domains', 0], type: 'policy_domain' }] },
    });
    const shop = await made([one]);
    expect((await patch(shop.id, { custom_url: `https://${one}` })).status).toBe(400);
    // In one request, a host can move from one field to the other.
    const moved = await patch(shop.id, { custom_url: `https://${one}`, domains: null });
    expect(moved.status, JSON.stringify(moved.body)).toBe(200);
    expect((await patch(shop.id, { custom_url: null, domains: [one] })).status).toBe(200);
  });
});

describe('a host', () => {
  test('has one deployment among the domains and URLs of all tenants', async () => {
    const [one, url] = [host(), host()];
    await made([one], client, { custom_url: `https://${url}` });
    for (const by of [client, otherTenant]) {
      const own = host();
      const { id } = await made([own], by);
      for (const [answer, detail] of [
        [await post(by, [host(), one]), inUse(one)],
        [await post(by, [url]), inUse(url)],
        [await post(by, null, { custom_url: `https://${one}` }), inUse(one, 'custom_url')],
        [await post(by, [host()], { custom_url: `https://${url}` }), inUse(url, 'custom_url')],
        [await patch(id, { domains: [one] }, { by }), inUse(one)],
        [await patch(id, { domains: [host(), own, one, host()] }, { by }), inUse(one)],
        [await patch(id, { custom_url: `https://${own}`, domains: [url, host()] }, { by }), inUse(url)],
      ] as const)
        expect(answer).toMatchObject({ status: 409, body: { detail } });
      expect((await read(id, by)).source_config).toMatchObject({ custom_url: null, domains: [own] });
    }
  });

  test('is given to exactly one of many concurrent requests', async () => {
    const [one, other] = [host(), host()];
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, n) =>
        n % 2 === 0
          ? post(n % 4 === 0 ? client : otherTenant, [one, other])
          : post(n % 4 === 1 ? client : otherTenant, [other], { custom_url: `https://${one}` }),
      ),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([
      201,
      ...Array.from({ length: 7 }, () => 409),
    ]);
  });

  test('is free again after it was removed, and after the deletion of its deployment', async () => {
    const one = host();
    const shop = await made([one]);
    await patch(shop.id, { domains: [] });
    const next = await made([one], otherTenant);
    expect((await otherTenant.call('DELETE', `/v2/deployments/${next.id}`)).status).toBe(204);
    expect((await patch(shop.id, { domains: [one] })).status).toBe(200);
  });

  test('stays reserved while a cluster may still route it, until an operator reports otherwise', async () => {
    const one = host();
    const shop = await made([one]);
    await api.store.sql("UPDATE deployments SET spec_hash = 'x' WHERE id = $1", [shop.id]);
    await patch(shop.id, { domains: [] });
    const [own, kept] = [host(), host()];
    const other = await made([own], otherTenant);
    await patch(other.id, { domains: [] }, { by: otherTenant });
    await api.store.sql(
      `INSERT INTO leaving_hosts (host, tenant_id, deployment_id, generation) VALUES ($2, $3, $1, 1)`,
      [other.id, own, otherTenant.tenantId],
    );
    await api.store.sql('INSERT INTO kept_hosts (host, tenant_id, deployment_ids) VALUES ($1, $2, $3)', [
      kept,
      client.tenantId,
      [shop.id],
    ]);
    const leaving = `is releasing the host ${one} (source_config.domains)`;
    const keptBy = `The host ${kept} (source_config.domains) is still routed`;
    for (const [refused, detail] of [
      [await post(otherTenant, [one]), leaving],
      [await patch(other.id, { domains: [host(), own, one] }, { by: otherTenant }), leaving],
      [await patch(other.id, { domains: [own, kept] }, { by: otherTenant }), keptBy],
    ] as const)
      expect(refused).toMatchObject({ status: 409, body: { detail: expect.stringContaining(detail) } });
    // The same deployment may have it again at once.
    expect((await patch(shop.id, { domains: [one] })).status).toBe(200);
    await client.call('DELETE', `/v2/deployments/${shop.id}`);
    expect((await post(otherTenant, [one])).status).toBe(409);
    await api.store.sql('DELETE FROM leaving_hosts WHERE deployment_id = $1', [shop.id]);
    expect((await post(otherTenant, [one])).status).toBe(201);
  });

  test('has its row also for a deployment that an API of an earlier version writes', async () => {
    const shop = await made([]);
    const url = `https://${host()}`;
    await api.store.sql(
      `UPDATE deployments SET route_host = $2, source_config = source_config || jsonb_build_object('custom_url', $3::text)
       WHERE id = $1`,
      [shop.id, url.slice('https://'.length), url],
    );
    expect((await post(otherTenant, [url.slice('https://'.length)])).status).toBe(409);
  });
});

describe('domains_status', () => {
  test('has the TXT record of each host from the start, the same value for all hosts of a tenant', async () => {
    const [one, other] = [host(), host()];
    const shop = await made([one, other]);
    expect(shop.domains_status).toMatchObject([
      { host: one, dns: 'UNKNOWN', proof: 'UNKNOWN', certificate: 'UNKNOWN', route: 'UNKNOWN' },
      { host: other },
    ]);
    const values = shop.domains_status?.map(({ challenge }) => challenge.value) ?? [];
    expect(new Set(values).size).toBe(1);
    expect(shop.domains_status?.[0]?.challenge.name).toBe(`_berth-challenge.${one}`);
    const next = await made([host()]);
    expect(next.domains_status?.[0]?.challenge.value).toBe(values[0]);
    const others = await made([host()], otherTenant);
    expect(others.domains_status?.[0]?.challenge.value).not.toBe(values[0]);
    const list = await client.call<{ resources: Shown[] }>(
      'GET',
      `/v2/deployments?deployment_ids=${shop.id}`,
    );
    expect(list.body.resources[0]?.domains_status).toEqual((await read(shop.id)).domains_status);
    const [row] = await api.store.sql<{ domain_token: string; namespace: string }>(
      'SELECT t.domain_token, d.namespace FROM tenants t JOIN deployments d ON d.tenant_id = t.id WHERE d.id = $1',
      [shop.id],
    );
    expect(row?.domain_token).toMatch(/^[0-9a-f]{64}$/);
    expect(shop.domains_status?.[0]?.challenge).toEqual(
      challengeOf(one, row?.namespace ?? '', row?.domain_token),
    );
    expect(JSON.stringify(shop)).not.toContain(row?.domain_token);
  });
});

describe('policy and quota', () => {
  test('the default policy of cloud allows no host, and names the field', async () => {
    const cloud = await startApi({ hosting: 'cloud', deps: { policy: resolvePolicy('cloud') } });
    const tenant = await cloud.tenant();
    const answer = await tenant.call('POST', '/v2/deployments', {
      ...createBody({ source_config: { domains: [host()] } }),
      source: 'internal_image',
      source_revision_config: {},
    });
    expect(answer).toMatchObject({
      status: 400,
      body: { detail: [{ loc: ['body', 'source_config', 'domains', 0], type: 'policy_domain' }] },
    });
    await cloud.stop();
  });

  test('the quota counts hosts of deployments that are not being deleted, and usage shows them', async () => {
    const admin = await api.client(null, ['admin']);
    const tenant = await api.tenant();
    const usage = async () =>
      (await tenant.call<{ quotas: { domains?: number }; usage: { domains?: number } }>('GET', '/v2/usage'))
        .body;
    expect((await usage()).usage).not.toHaveProperty('domains');
    const first = await made([host(), host()], tenant);
    expect((await usage()).usage.domains).toBe(2);
    const set = await admin.call('PATCH', `/v2/tenants/${tenant.tenantId}`, { quotas: { domains: 3 } });
    expect(set.status).toBe(200);
    const over = await post(tenant, [host(), host()]);
    expect(over).toMatchObject({
      status: 400,
      body: { detail: [{ loc: ['body', 'source_config', 'domains'], type: 'quota_domains' }] },
    });
    await made([host()], tenant);
    expect(await usage()).toMatchObject({ quotas: { domains: 3 }, usage: { domains: 3 } });
    await tenant.call('DELETE', `/v2/deployments/${first.id}`);
    expect((await usage()).usage.domains).toBe(1);
  });
});
