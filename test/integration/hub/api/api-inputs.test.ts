/** Inputs that clients of other languages send: names in several spellings, booleans of Python, sums of fractions. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  ALL_SCOPES,
  type ApiFixture,
  type Client,
  createBody,
  type Deployment,
  startApi,
} from '../../harness/api.ts';

let api: ApiFixture;
let client: Client;
beforeAll(async () => {
  api = await startApi({ deps: { deletionGraceSeconds: 3600 } });
  client = await api.tenant();
});
afterAll(() => api.stop());

const NFC = 'caf\u00e9';
const NFD = 'cafe\u0301';

const create = (name: string, spec: object = {}) =>
  client.call('POST', '/v2/deployments', { ...createBody(), name, source_config: { resource_spec: spec } });
const named = async (query: string): Promise<string[]> => {
  const { body } = await client.call('GET', `/v2/deployments?${query}`);
  return (body as { resources: Deployment[] }).resources.map(({ name }) => name);
};

describe('a name', () => {
  test('is stored in one form, and each of its spellings finds it and is taken', async () => {
    const made = await create(` ${NFD}\u00a0`);
    expect(made.status).toBe(201);
    expect(made.body).toMatchObject({ name: NFC });
    for (const spelling of [NFC, NFD, `${NFC} `, ` ${NFD}`, `${NFC}\u2003`])
      expect((await create(spelling)).status, JSON.stringify(spelling)).toBe(409);
    for (const spelling of [NFC, NFD, `${NFC} `])
      expect(await named(`name=${encodeURIComponent(spelling)}`)).toEqual([NFC]);
    for (const part of [NFC, NFD, 'fe\u0301'])
      expect(await named(`name_contains=${encodeURIComponent(part)}`)).toEqual([NFC]);
    expect((await create('Caf\u00e9')).status).toBe(201);
    expect((await create('caf\u00e9\u200b')).body).toMatchObject({
      detail: [{ loc: ['body', 'name'], msg: expect.stringContaining('visible characters') }],
    });
  });

  const OLD = [
    ...[NFD.repeat(2), `${NFD} ${NFC}`, `\u00a0mixed ${NFD}\u2003${NFC} `],
    ...['kept ', ' lead', '  both  ', 'a\u00a0b', '\u3000wide', 'in\u2009the middle\u202f'],
  ];
  test.each(OLD)('is found and taken in each spelling when it was stored in an old form: %j', async (old) => {
    const made = await create(`stored ${crypto.randomUUID()}`);
    const { id } = made.body as Deployment;
    await api.store.sql('UPDATE deployments SET name = $1 WHERE id = $2', [old, id]);
    const form = old
      .normalize('NFC')
      .replaceAll(/\p{Zs}/gu, ' ')
      .trim();
    const spellings = [
      old,
      form,
      form.normalize('NFD'),
      `${form} `,
      `\u2003${form}`,
      form.replaceAll(' ', '\u00a0'),
    ];
    for (const spelling of spellings) {
      expect(await named(`name=${encodeURIComponent(spelling)}`), JSON.stringify(spelling)).toEqual([old]);
      expect((await create(spelling)).status, JSON.stringify(spelling)).toBe(409);
    }
    for (const part of [old, form, form.normalize('NFD'), form.slice(1)])
      expect(await named(`name_contains=${encodeURIComponent(part)}`), JSON.stringify(part)).toContain(old);
    expect(await named(`name=${encodeURIComponent(`${form}x`)}`)).toEqual([]);
    const patched = await client.call('PATCH', `/v2/deployments/${id}`, {
      source_config: { resource_spec: { cpu: 2 } },
    });
    expect(patched.status).toBe(200);
    expect(patched.body).toMatchObject({ name: old, generation: 2 });
    expect((await client.call('DELETE', `/v2/deployments/${id}`)).status).toBe(204);
  });

  test('finds both deployments that were stored with two spellings of it', async () => {
    const ids: string[] = [];
    for (const old of ['two', 'two ']) {
      const { id } = (await create(`stored ${crypto.randomUUID()}`)).body as Deployment;
      await api.store.sql('UPDATE deployments SET name = $1 WHERE id = $2', [old, id]);
      ids.push(id);
    }
    expect(await named('name=two')).toEqual(['two ', 'two']);
    for (const id of ids) expect((await client.call('DELETE', `/v2/deployments/${id}`)).status).toBe(204);
  });

  test('prevents a restore when another deployment was stored with another spelling of it', async () => {
    const { id } = (await create('back again')).body as Deployment;
    expect((await client.call('DELETE', `/v2/deployments/${id}`)).status).toBe(204);
    const other = (await create(`stored ${crypto.randomUUID()}`)).body as Deployment;
    await api.store.sql('UPDATE deployments SET name = $1 WHERE id = $2', ['back\u00a0again ', other.id]);
    expect((await client.call('POST', `/v2/deployments/${id}/restore`)).status).toBe(409);
  });

  test('of a tenant is found in each spelling when it was stored in an old form', async () => {
    const admin = await api.client(null, ALL_SCOPES);
    const { id } = (await admin.call('POST', '/v2/tenants', { name: `t${crypto.randomUUID()}` })).body as {
      id: string;
    };
    const old = ` ${NFD}\u00a0and\u2003more `;
    await api.store.sql('UPDATE tenants SET name = $1 WHERE id = $2', [old, id]);
    for (const query of [
      `name=${old}`,
      `name=${NFC} and more`,
      `name_contains=${NFC} a`,
      'name_contains=d more',
    ]) {
      const { body } = await admin.call('GET', `/v2/tenants?${encodeURI(query)}`);
      expect((body as { resources: object[] }).resources, query).toMatchObject([{ id, name: old }]);
    }
  });

  test('of a tag or a listener is stored in one form, and each of its spellings is taken', async () => {
    expect((await client.call('POST', '/v2/tag-keys', { key: NFD })).body).toMatchObject({ key: NFC });
    expect((await client.call('POST', '/v2/tag-keys', { key: `${NFC} ` })).status).toBe(409);
    expect((await client.call('POST', '/v2/listeners', { compute_id: `${NFD} ` })).body).toMatchObject({
      compute_id: NFC,
    });
    expect((await client.call('POST', '/v2/listeners', { compute_id: NFC })).status).toBe(409);
    for (const spelling of [NFC, NFD, `\u00a0${NFD}`]) {
      const found = await client.call('GET', `/v2/listeners?compute_id=${encodeURIComponent(spelling)}`);
      expect((found.body as { resources: object[] }).resources).toMatchObject([{ compute_id: NFC }]);
    }
  });

  test.each([
    ['tag key', '/v2/tag-keys', 'key', 'UPDATE tag_keys SET key = $1 WHERE id = $2'],
    ['listener', '/v2/listeners', 'compute_id', 'UPDATE listeners SET compute_id = $1 WHERE id = $2'],
  ])('of a %s that was stored in another spelling is taken', async (_what, path, field, update) => {
    for (const stored of [`Eu ${NFD}`, 'Eu\u00a01', 'eu 2\u00a0']) {
      const made = await client.call<{ id: string }>('POST', path, { [field]: `x${crypto.randomUUID()}` });
      await api.store.sql(update, [stored, made.body.id]);
      expect((await client.call('POST', path, { [field]: stored })).status, stored).toBe(409);
      const other = await client.call<{ id: string }>('POST', path, { [field]: `y${crypto.randomUUID()}` });
      const renamed = await client.call('PATCH', `${path}/${other.body.id}`, { [field]: stored });
      expect(renamed.status, stored).toBe(409);
      // Its own name in the one form is no other row's.
      expect((await client.call('PATCH', `${path}/${made.body.id}`, { [field]: stored })).status).toBe(200);
    }
  });

  test('of a tag value that was stored in another spelling is taken', async () => {
    const key = await client.call<{ id: string }>('POST', '/v2/tag-keys', { key: 'values' });
    const path = `/v2/tag-keys/${key.body.id}/values`;
    const made = await client.call<{ id: string }>('POST', path, { value: 'first' });
    await api.store.sql('UPDATE tag_values SET value = $1 WHERE id = $2', [NFD, made.body.id]);
    expect((await client.call('POST', path, { value: NFC })).status).toBe(409);
  });
});

test('a query accepts the spellings of Python clients, and an error lists the accepted values', async () => {
  const { body } = await client.call(
    'GET',
    '/v2/deployments?limit=5.0&offset=0.0&remote_reconciled=False&mask_secrets=True',
  );
  expect((body as { resources: unknown[] }).resources.length).toBeGreaterThan(0);
  const refused = await client.call('GET', '/v2/deployments?limit=5.5&remote_reconciled=yes&status=ready');
  expect(refused.status).toBe(422);
  expect(refused.body).toEqual({
    detail: expect.arrayContaining([
      expect.objectContaining({ loc: ['query', 'limit'], msg: 'must be a whole number, such as 5' }),
      expect.objectContaining({
        loc: ['query', 'remote_reconciled'],
        msg: 'must be true or false (true, True, TRUE, 1, false, False, FALSE and 0 are accepted)',
      }),
      expect.objectContaining({ loc: ['query', 'status'], msg: expect.stringContaining('READY') }),
    ]),
  });
  expect((await create('text', { max_scale: '2' })).body).toMatchObject({
    detail: [{ msg: 'must be a number, without quotes' }],
  });
});

test('a CPU value with a rounding error is stored rounded, and sending it again changes nothing', async () => {
  const spec = { cpu: 0.1 + 0.2, cpu_limit: 1.1 + 2.2, queue_cpu: 0.1 * 3, cache_cpu: 0.7 + 0.1 };
  const rounded = { cpu: 0.3, cpu_limit: 3.3, queue_cpu: 0.3, cache_cpu: 0.8 };
  const made = await create('sums', spec);
  expect(made.status).toBe(201);
  const { id, generation } = made.body as Deployment;
  expect(made.body).toMatchObject({
    source_config: { resource_spec: rounded },
    effective_resource_spec: rounded,
  });
  const path = `/v2/deployments/${id}`;
  const dry = await client.call('PATCH', `${path}?dry_run=True`, { source_config: { resource_spec: spec } });
  expect(dry.body).toMatchObject({ generation, pods_roll: false, new_revision: false });
  const again = await client.call('PATCH', path, { source_config: { resource_spec: spec } });
  expect(again.body).toMatchObject({ generation, source_config: { resource_spec: rounded } });
  expect(
    (await client.call('PATCH', path, { source_config: { resource_spec: { cpu: 0.300001 } } })).status,
  ).toBe(422);
});

test('a change of scale that restarts the database is shown by the dry run, the response and explain', async () => {
  const made = await create('scaled', { max_scale: 2 });
  const { id, latest_revision_id: revision } = made.body as Deployment;
  const path = `/v2/deployments/${id}`;
  const body = { source_config: { resource_spec: { max_scale: 60 } } };
  const effects = [expect.stringMatching(/^The database restarts: db_max_connections changes from 100 to /)];
  expect((await client.call('PATCH', `${path}?dry_run=true`, body)).body).toMatchObject({ effects });
  expect((await client.call('PATCH', path, body)).body).toMatchObject({ name: 'scaled', effects });
  expect((await client.call('GET', `${path}/revisions/${revision}/explain`)).body).toMatchObject({ effects });
  expect((await client.call('PATCH', path, body)).body).not.toHaveProperty('effects');
});
