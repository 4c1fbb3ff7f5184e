/**
 * What clients may write into pods, one row of the design's table of inputs after the other, in both hosting modes,
 * through the real API: allowed, or refused with the field named and nothing written.
 *
 * What only the cluster can know is no matter of the API, which takes it (the last row here): a ServiceAccount, Secret,
 * ConfigMap or claim that is not there, a quota, an admission rule. It ends as a failed revision with field and reason:
 * rollout-failures.test.ts.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { HOSTING_MODES, type HostingMode } from '../../../src/domain/deployment/source.ts';
import { DEFAULT_POLICIES } from '../../../src/domain/policy/policy.ts';
import {
  type ApiFixture,
  type Client,
  createBody,
  type Deployment,
  type Issue,
  startApi,
} from '../harness/api.ts';
import { rows, type SecurityRow, TABLE, url } from '../harness/security-table.ts';

test('the table has cases for every row', () => {
  expect([...new Set(rows.map(({ row }) => row))]).toEqual(TABLE);
});

describe.each(HOSTING_MODES)('the API in %s mode', (hosting: HostingMode) => {
  let api: ApiFixture;
  let client: Client;
  beforeAll(async () => {
    api = await startApi({ hosting });
    await api.store.sql(
      `UPDATE listeners SET compute_config = '{"k8s_namespaces": ["apps", "listed"]}' WHERE tenant_id IS NULL`,
    );
    client = await api.tenant(['deployments:read', 'deployments:write', 'secrets:read']);
  });
  afterAll(() => api.stop());

  const whole = (row: SecurityRow) => {
    const base = createBody();
    const common = hosting === 'cloud' ? { ...base, source: 'internal_image' } : base;
    return { ...common, ...row.body(client) };
  };

  const applied = ({ name, ...body }: ReturnType<typeof whole>) =>
    client.call<Deployment & { detail: Issue[] }>('PUT', `/v2/deployments/by-name/${name}`, body);

  test.each(rows.map((row) => [row.row, row.what, row[hosting], row] as const))(
    'checks %s: %s, with the result %j, also in a PUT by name',
    async (_row, _what, expected, row) => {
      const before = await api.rowCounts();
      const body = whole(row);
      const answer = await client.call<Deployment & { detail: Issue[] }>('POST', '/v2/deployments', body);
      const again = await applied(body);
      if (expected === 'allowed') {
        expect(answer.status, JSON.stringify(answer.body)).toBe(201);
        expect(again, JSON.stringify(again.body)).toMatchObject({ status: 200, body: { generation: 1 } });
        return;
      }
      const [status, ...path] = expected;
      for (const { status: given, body: refused } of [answer, again]) {
        expect(given, JSON.stringify(refused)).toBe(status);
        const places = refused.detail.map(({ loc }) => JSON.stringify(loc));
        expect(places, JSON.stringify(refused.detail)).toContain(JSON.stringify(['body', ...path]));
      }
      expect(await api.rowCounts()).toEqual(before);
    },
  );

  test('limits the size of the whole body', async () => {
    const before = await api.rowCounts();
    const body = createBody({ name: 'x'.repeat(DEFAULT_POLICIES[hosting].body_bytes) });
    expect((await client.call('POST', '/v2/deployments', body)).status).toBe(413);
    expect(await api.rowCounts()).toEqual(before);
  });

  test('gives the host of a custom_url to one deployment only, across tenants', async () => {
    if (hosting === 'cloud') return;
    const other = await api.tenant();
    const body = () => createBody(url('https://taken.example.com/a'));
    expect((await client.call('POST', '/v2/deployments', body())).status).toBe(201);
    expect((await other.call('POST', '/v2/deployments', body())).status).toBe(409);
  });

  test('rejects in a PATCH, and in a PUT of an existing deployment, what it rejects in a POST', async () => {
    const { body: existing } = await client.call<Deployment>(
      'POST',
      '/v2/deployments',
      whole({ ...rows[0], body: () => ({}) } as SecurityRow),
    );
    const fixed = ['namespace', 'repo_url'];
    for (const row of rows) {
      const expected = row[hosting];
      const { source_config, secrets, source } = row.body(client);
      if (expected === 'allowed' || fixed.includes(row.row) || source !== undefined) continue;
      // The deployment_type of an existing deployment is fixed.
      if ((source_config as { deployment_type?: string } | undefined)?.deployment_type !== undefined)
        continue;
      const [status, ...path] = expected;
      const patched = await client.call<{ detail: Issue[] }>('PATCH', `/v2/deployments/${existing.id}`, {
        ...(source_config === undefined ? {} : { source_config }),
        ...(secrets === undefined ? {} : { secrets }),
      });
      const put = await applied({ ...whole(row), name: existing.name });
      for (const answer of [patched, put]) {
        expect(answer.status, `${row.row}: ${row.what}`).toBe(status);
        const places = answer.body.detail.map(({ loc }) => JSON.stringify(loc));
        expect(places, `${row.row}: ${row.what}`).toContain(JSON.stringify(['body', ...path]));
      }
    }
    const after = await client.call<Deployment>('GET', `/v2/deployments/${existing.id}`);
    expect(after.body.generation).toBe(1);
  });
});
