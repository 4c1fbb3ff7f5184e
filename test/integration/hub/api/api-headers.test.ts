/** Headers that a client relies on are honoured, or refused: never passed over. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ApiFixture, type Client, create, type Issue, startApi } from '../../harness/api.ts';

let api: ApiFixture;
let client: Client;
beforeAll(async () => {
  api = await startApi({ deps: { deletionGraceSeconds: 3600 } });
  client = await api.tenant();
});
afterAll(() => api.stop());

const stale = { 'if-match': '"7"' };
const current = (generation: number) => ({ 'if-match': `"${generation}"` });
const path = (id: string) => `/v2/deployments/${id}`;
const generationOf = async (id: string) =>
  (await client.call<{ generation: number }>('GET', path(id))).body.generation;

describe('If-Match', () => {
  test.each(['', '?force=true'])(
    'DELETE%s returns 412 and deletes nothing when the generation differs',
    async (query) => {
      const { id } = await create(client);
      const before = await api.rowCounts();
      expect((await client.call('DELETE', `${path(id)}${query}`, undefined, stale)).status).toBe(412);
      expect(await api.rowCounts()).toEqual(before);
      expect((await client.call('GET', path(id))).body).toMatchObject({ generation: 1 });
      expect((await client.call('DELETE', `${path(id)}${query}`, undefined, current(1))).status).toBe(204);
    },
  );

  test('POST …/restore returns 412 and keeps the deletion when the generation differs', async () => {
    const { id } = await create(client);
    await client.call('DELETE', path(id));
    const restore = (headers: Record<string, string>) =>
      client.call('POST', `${path(id)}/restore`, undefined, headers);
    expect((await restore(stale)).status).toBe(412);
    expect((await client.call('GET', path(id))).body).toMatchObject({ status: 'AWAITING_DELETE' });
    expect((await restore(current(await generationOf(id)))).status).toBe(200);
  });

  test('PUT …/tag-values returns 412 and keeps the tags when the generation differs', async () => {
    const { id } = await create(client);
    const put = (headers: Record<string, string>) =>
      client.call('PUT', `${path(id)}/tag-values`, { tag_value_ids: [] }, headers);
    expect((await put(stale)).status).toBe(412);
    expect((await put(current(1))).status).toBe(200);
  });
});

describe('Idempotency-Key', () => {
  const key = { 'idempotency-key': 'once' };
  /** Those that make a deployment, a revision or a task; and webhooks, whose deliveries GitLab names with it. */
  const isHonoured = (url: string) =>
    url === '/v2/webhooks/:integration_id' ||
    /^\/v2\/deployments(\/:deployment_id\/(tasks|schedules\/:schedule\/run|revisions(\/:revision_id\/(rollback|redeploy))?))?$/.test(
      url,
    );

  test('is rejected with 422 by each POST that does not support it', async () => {
    // Pages for people are apart.
    const others = api.routes.filter(
      ({ method, url }) => method === 'POST' && url.startsWith('/v2/') && !isHonoured(url),
    );
    expect(others.length).toBeGreaterThan(4);
    const before = await api.rowCounts();
    for (const { url } of others) {
      const filled = url.replaceAll(/:\w+/g, '01890000-0000-7000-8000-000000000000');
      const answer = await client.call<{ detail: Issue[] }>('POST', filled, {}, key);
      expect(answer, url).toMatchObject({
        status: 422,
        body: { detail: [{ loc: ['header', 'Idempotency-Key'], type: 'not_supported' }] },
      });
    }
    expect(await api.rowCounts()).toEqual(before);
  });

  test('does not change the 404 of an unknown path', async () => {
    const answer = await client.call<{ detail: string }>('POST', '/v2/deployment', {}, key);
    expect(answer.status).toBe(404);
  });

  test('is documented for the routes that support it, and for no other', async () => {
    const { body } = await client.call<{
      paths: Record<string, Record<string, { parameters?: { name: string }[] }>>;
    }>('GET', '/openapi.json');
    const documented = Object.entries(body.paths).flatMap(([url, operations]) =>
      Object.values(operations).some(({ parameters }) =>
        parameters?.some(({ name }) => name === 'Idempotency-Key'),
      )
        ? [url.replaceAll(/\{(\w+)\}/g, ':$1')]
        : [],
    );
    const byName = '/v2/deployments/by-name/:name';
    expect(documented.filter((url) => url !== byName && !isHonoured(url))).toEqual([]);
    expect(documented).toContain(byName);
    expect(documented.length).toBeGreaterThan(1);
  });
});

test.each([
  ['/v2/deployments/', 'Paths do not end with a slash.'],
  ['/v2/deployments/?limit=1', 'Paths do not end with a slash.'],
  ['/v2/nothing', 'with this method.'],
])('GET %s returns 404 with the reason', async (url, why) => {
  expect(await client.call('GET', url)).toMatchObject({
    status: 404,
    body: { detail: expect.stringMatching(why) },
  });
});

test.each(['9007199254740991', '9007199254740993', '99999999999999999999'])(
  'offset=%s returns 422 with the largest allowed value',
  async (offset) => {
    const answer = await client.call<{ detail: Issue[] }>('GET', `/v2/deployments?offset=${offset}`);
    expect(answer).toMatchObject({ status: 422, body: { detail: [{ loc: ['query', 'offset'] }] } });
    expect(answer.body.detail[0]?.msg).toMatch(/1000000000/);
  },
);

test('a tracing project shows when the backend acknowledged it', async () => {
  const { tracing_project_id: id } = await create(client);
  const read = async () => (await client.call('GET', `/v2/tracing-projects/${id}`)).body;
  expect(await read()).toMatchObject({ backend_synced_at: null });
  const at = '2026-01-02T03:04:05.000Z';
  await api.store.sql('UPDATE tracing_projects SET backend_synced_at = $2 WHERE id = $1', [id, at]);
  expect(await read()).toMatchObject({ backend_synced_at: at });
});
