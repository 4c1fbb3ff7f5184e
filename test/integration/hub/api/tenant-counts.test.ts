/** What a tenant may keep beside deployments, and the secrets of old revisions that are not kept. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { resolvePolicy } from '../../../../src/domain/policy/policy.ts';
import { pruneSecrets } from '../../../../src/hub/store/core/housekeeping.ts';
import {
  type ApiFixture,
  type Client,
  create,
  createBody,
  type Issue,
  startApi,
  uniqueName,
} from '../../harness/api.ts';

const LEAST = { tag_keys: 1, tag_values: 2, integrations: 1, listeners: 1, tracing_projects: 1 };
const KEPT = 3;

let api: ApiFixture;
beforeAll(async () => {
  const tenant_counts = { ...LEAST, tracing_projects: 2, revision_secrets: KEPT };
  api = await startApi({ deps: { policy: resolvePolicy('self_hosted', { tenant_counts }) } });
});
afterAll(() => api.stop());

const bodies: Record<string, { path: string; body: () => object; most: number }> = {
  tag_keys: { path: '/v2/tag-keys', body: () => ({ key: uniqueName() }), most: 1 },
  integrations: {
    path: '/v2/integrations',
    body: () => ({
      name: uniqueName(),
      provider: 'git',
      host_url: 'https://git.example.com',
      token: 'a-token-of-some-length',
    }),
    most: 1,
  },
  listeners: {
    path: '/v2/listeners',
    body: () => ({
      compute_type: 'k8s',
      compute_id: uniqueName(),
      compute_config: { k8s_namespaces: ['apps'] },
    }),
    most: 1,
  },
};

describe('the limit on the number of objects of a tenant', () => {
  test.each(Object.entries(bodies))(
    'returns 400 above the allowed number of %s, also when several requests arrive at once',
    async (thing, { path, body, most }) => {
      const client = await api.tenant();
      const answers = await Promise.all(
        Array.from({ length: most + 3 }, () => client.call<{ detail: Issue[] }>('POST', path, body())),
      );
      const statuses = answers.map(({ status }) => status).sort();
      expect(statuses, JSON.stringify(answers.map(({ body: { detail } }) => detail))).toEqual([
        201, 400, 400, 400,
      ]);
      const refused = answers.find(({ status }) => status === 400);
      expect(refused?.body.detail).toMatchObject([{ loc: ['body'], type: `count_${thing}` }]);
      expect((await (await api.tenant()).call('POST', path, body())).status).toBe(201);
    },
  );

  test('counts tag values of all keys together', async () => {
    const client = await api.tenant();
    const { body } = await client.call<{ id: string }>('POST', '/v2/tag-keys', { key: uniqueName() });
    const post = () =>
      client.call<{ detail: Issue[] }>('POST', `/v2/tag-keys/${body.id}/values`, { value: uniqueName() });
    expect([(await post()).status, (await post()).status]).toEqual([201, 201]);
    expect(await post()).toMatchObject({ status: 400, body: { detail: [{ type: 'count_tag_values' }] } });
  });

  test('counts tracing projects, except when the deployment reuses one with its name', async () => {
    const client = await api.tenant();
    const first = await create(client);
    await create(client);
    expect(await client.call('POST', '/v2/deployments', createBody())).toMatchObject({
      status: 400,
      body: { detail: [{ loc: ['body', 'name'], type: 'count_tracing_projects' }] },
    });
    await client.call('DELETE', `/v2/deployments/${first.id}`);
    expect((await client.call('POST', '/v2/deployments', createBody({ name: first.name }))).status).toBe(201);
  });
});

describe('secrets of revisions', () => {
  const image = (number: number) => ({
    source_revision_config: { image_uri: `registry.example.com/shop/web:${number}` },
    secrets: [{ name: 'TOKEN', value: `value-${number}` }],
  });

  /** A deployment of six revisions with secrets of their own, all of them over. */
  async function six(client: Client): Promise<{ id: string; revisions: string[] }> {
    const { id } = await create(client, image(1));
    for (const number of [2, 3, 4, 5, 6]) {
      expect((await client.call('PATCH', `/v2/deployments/${id}`, image(number))).status).toBe(200);
    }
    const rows = await api.store.sql<{ id: string }>(
      'SELECT id FROM revisions WHERE deployment_id = $1 ORDER BY number',
      [id],
    );
    await api.store.sql(`UPDATE revisions SET status = 'CREATE_FAILED' WHERE deployment_id = $1`, [id]);
    await api.store.sql(
      `UPDATE secret_sets SET created_at = now() - interval '1 day' WHERE deployment_id = $1`,
      [id],
    );
    return { id, revisions: rows.map((row) => row.id) };
  }

  const prune = () => api.store.database.platform.transaction((tx) => pruneSecrets(tx, KEPT));
  const kept = async (id: string) =>
    (
      await api.store.sql<{ number: number }>(
        `SELECT r.number FROM revisions r JOIN secret_sets s ON s.id = r.secrets_id
         WHERE r.deployment_id = $1 ORDER BY 1`,
        [id],
      )
    ).map(({ number }) => number);

  test('are removed when the revisions are finished and old, except for active and pending revisions', async () => {
    const client = await api.tenant();
    const { id, revisions } = await six(client);
    await api.store.sql('UPDATE deployments SET active_revision_id = $2 WHERE id = $1', [id, revisions[0]]);
    await api.store.sql(`UPDATE revisions SET status = 'DEPLOYING' WHERE id = $1`, [revisions[1]]);
    expect(await prune()).toBe(1);
    expect(await kept(id)).toEqual([1, 2, 4, 5, 6]);
    expect(await prune()).toBe(0);
  });

  test('are kept for the desired revision when only failed builds came after it', async () => {
    const client = await api.tenant();
    const { id, revisions } = await six(client);
    await api.store.sql(`UPDATE revisions SET status = 'DEPLOY_FAILED' WHERE id = $1`, [revisions[1]]);
    expect(await prune()).toBe(1);
    expect(await kept(id)).toEqual([2, 4, 5, 6]);
  });

  test('are removed when the revisions were never handed out, and are kept when they were', async () => {
    const client = await api.tenant();
    const [never, handed] = [await six(client), await six(client)];
    const ids = [never.id, handed.id];
    await api.store.sql(`UPDATE revisions SET status = 'QUEUED' WHERE deployment_id = ANY($1)`, [ids]);
    await api.store.sql('UPDATE deployments SET handed_out = true WHERE id = $1', [handed.id]);
    expect(await prune()).toBe(1);
    expect(await kept(never.id)).toEqual([4, 5, 6]);
    expect(await kept(handed.id)).toEqual([1, 2, 3, 4, 5, 6]);
  });

  test('make a rollback return 409 when they are removed, and 201 when they are still stored', async () => {
    const client = await api.tenant();
    const { id, revisions } = await six(client);
    await prune();
    expect(await kept(id)).toEqual([4, 5, 6]);
    const rollback = (index: number) =>
      client.call('POST', `/v2/deployments/${id}/revisions/${revisions[index]}/rollback`);
    const before = await api.rowCounts();
    expect(await rollback(0)).toMatchObject({
      status: 409,
      body: { detail: expect.stringContaining('secrets of revision 1 are no longer stored') },
    });
    expect(await api.rowCounts()).toEqual(before);
    expect((await rollback(3)).status).toBe(201);
    expect((await client.call('GET', `/v2/deployments/${id}`)).body['secrets']).toMatchObject([
      { name: 'TOKEN', value: 'value-4' },
    ]);
  });

  test('are not removed while another transaction, such as a rollback, locks the deployment', async () => {
    const client = await api.tenant();
    const { id } = await six(client);
    await api.store.database.platform.transaction(async (tx) => {
      await tx.query('SELECT 1 FROM deployments WHERE id = $1 FOR UPDATE', [id]);
      expect(await prune()).toBe(0);
    });
    expect(await kept(id)).toEqual([1, 2, 3, 4, 5, 6]);
    expect(await prune()).toBe(1);
  });
});
