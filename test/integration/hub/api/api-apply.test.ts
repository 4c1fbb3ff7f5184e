/** PUT by name: one request creates or changes, and applying the same body again writes nothing. */
import { request } from 'node:http';
import { json } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { resolvePolicy } from '../../../../src/domain/policy/policy.ts';
import { SECRET_MASK } from '../../../../src/domain/redaction/secret-list.ts';
import { insertDeployment } from '../../../../src/hub/store/deployments/deployments.ts';
import {
  ALL_SCOPES,
  type ApiFixture,
  type Client,
  createBody,
  type Deployment,
  type Issue,
  startApi,
  uniqueName,
} from '../../harness/api.ts';
import { insert, newDeployment, untilLockWait } from '../../harness/store.ts';

type Applied = Deployment & { detail: Issue[] & string };

let api: ApiFixture;
let client: Client;
beforeAll(async () => {
  api = await startApi({
    deps: {
      deletionGraceSeconds: 3600,
      policy: resolvePolicy('self_hosted', { caps: { memory_mb: 4096 } }),
    },
  });
  client = await api.tenant();
});
afterAll(() => api.stop());

const url = (name: string, query = '') => `/v2/deployments/by-name/${encodeURIComponent(name)}${query}`;
const put = (name: string, body: unknown, headers = {}, by = client) =>
  by.call<Applied>('PUT', url(name), body, headers);

/** A body without a name. */
function bodyOf(more: Record<string, unknown> = {}) {
  const { name: _, secrets: __, ...body } = createBody();
  return { ...body, ...more };
}
const sized = (spec: object, more: object = {}) =>
  bodyOf({ source_config: { resource_spec: spec }, ...more });
const named = async (name: string) => {
  const query = `/v2/deployments?name=${encodeURIComponent(name)}`;
  return (await client.call<{ resources: Deployment[] }>('GET', query)).body.resources;
};

describe('a PUT of a new name', () => {
  test('creates the deployment of the body of a POST, and changes nothing when it is repeated', async () => {
    const body = createBody({
      source_config: { resource_spec: { cpu: 0.5, labels: { team: 'shop' } } },
      secrets: [{ name: 'A', value: 'x' }],
    });
    const first = await put(body.name, body);
    expect(first.status, JSON.stringify(first.body)).toBe(201);
    expect(first.headers).toMatchObject({ etag: '"1"', location: `/v2/deployments/${first.body.id}` });
    expect(first.body).toMatchObject({ name: body.name, secrets: body.secrets, generation: 1 });
    const rows = await api.rowCounts();
    const again = await put(body.name, body);
    expect(again).toMatchObject({ status: 200, headers: { etag: '"1"' } });
    expect(again.headers['location']).toBeUndefined();
    expect(again.body).toEqual(first.body);
    expect(await api.rowCounts()).toEqual(rows);
    expect(
      (await client.call('GET', `/v2/tracing-projects/${first.body.tracing_project_id}`)).body,
    ).toMatchObject({ name: body.name });
  });

  test.each<[string, object, number, (string | number)[]]>([
    ['has another name than the path', { name: 'other' }, 400, ['name']],
    [
      'breaks a rule of the source',
      { source_revision_config: {} },
      400,
      ['source_revision_config', 'image_uri'],
    ],
    [
      'breaks the policy',
      { source_config: { resource_spec: { memory_mb: 5000 } } },
      400,
      ['source_config', 'resource_spec', 'memory_mb'],
    ],
    [
      'has the mask as a value',
      { secrets: [{ name: 'A', value: SECRET_MASK }] },
      400,
      ['secrets', 0, 'value'],
    ],
    ['has an unknown field', { replicas: 1 }, 422, ['replicas']],
    [
      'has a commit',
      { source_revision_config: { image_uri: 'a/b:1', repo_commit_sha: 'abc' } },
      422,
      ['source_revision_config', 'repo_commit_sha'],
    ],
  ])('names the field and writes nothing when the body %s', async (_what, more, status, path) => {
    const before = await api.rowCounts();
    const answer = await put(uniqueName(), bodyOf(more as Record<string, unknown>));
    expect(answer.status).toBe(status);
    expect(answer.body.detail[0]?.loc).toEqual(['body', ...path]);
    expect(await api.rowCounts()).toEqual(before);
  });

  test('creates a new deployment when the only one with the name is being deleted', async () => {
    const name = uniqueName();
    const { body: old } = await put(name, bodyOf());
    await client.call('DELETE', `/v2/deployments/${old.id}`);
    const { status, body } = await put(name, bodyOf({ source: 'internal_image' }));
    expect(status).toBe(201);
    expect(body.id).not.toBe(old.id);
    expect((await named(name)).map(({ id }) => id).sort()).toEqual([old.id, body.id].sort());
  });

  test('obeys the quotas of the tenant', async () => {
    const admin = await api.client(null, ALL_SCOPES);
    const tenant = await api.tenant();
    await admin.call('PATCH', `/v2/tenants/${tenant.tenantId}`, { quotas: { cpu: 4 } });
    const name = uniqueName();
    expect((await put(name, sized({ cpu: 9 }), {}, tenant)).status).toBe(400);
    expect((await put(name, sized({ cpu: 1 }), {}, tenant)).status).toBe(201);
    const above = await put(name, sized({ cpu: 9 }), {}, tenant);
    expect(above).toMatchObject({
      status: 400,
      body: { detail: [{ type: expect.stringContaining('quota') }] },
    });
  });
});

describe('a PUT of a deployment that exists', () => {
  test('clears what is absent, but keeps immutable fields, db_storage_gi and secrets', async () => {
    const name = uniqueName();
    const secrets = [{ name: 'A', value: 'x' }];
    const source_config = {
      deployment_type: 'dev',
      custom_url: `https://${name}.example.com`,
      listener_config: { cluster_namespace: 'default' },
      resource_spec: { cpu: 1, labels: { a: '1' }, db_storage_gi: 12 },
    };
    const { body: before } = await put(name, bodyOf({ source_config, secrets }));
    const { status, body } = await put(name, sized({ memory_mb: 512 }));
    expect(status).toBe(200);
    expect(body).toMatchObject({
      id: before.id,
      generation: 2,
      latest_revision_id: before.latest_revision_id,
    });
    expect(body.source_config).toMatchObject({
      deployment_type: 'dev',
      custom_url: null,
      listener_config: { cluster_namespace: 'default' },
    });
    const spec = body.source_config.resource_spec ?? {};
    const set = Object.entries(spec).filter(([, value]) => value !== null);
    expect(Object.fromEntries(set)).toEqual({ memory_mb: 512, db_storage_gi: 12 });
    expect(body.secrets).toEqual(secrets);
  });

  test('replaces the secrets and creates a revision when secrets are sent', async () => {
    const name = uniqueName();
    const { body: first } = await put(name, bodyOf({ secrets: [{ name: 'A', value: 'x' }] }));
    const kept = [
      { name: 'A', value: SECRET_MASK },
      { name: 'B', value: 'y' },
    ];
    const { body: second } = await put(name, bodyOf({ secrets: kept }));
    expect(second.secrets).toEqual([
      { name: 'A', value: 'x' },
      { name: 'B', value: 'y' },
    ]);
    expect(second.latest_revision_id).not.toBe(first.latest_revision_id);
    expect((await put(name, bodyOf({ secrets: [] }))).body.secrets).toEqual([]);
  });

  test('records one event with the changed fields when something changes, and none otherwise', async () => {
    const name = uniqueName();
    const { body } = await put(name, sized({ cpu: 1 }));
    await put(name, sized({ cpu: 1 }));
    await put(name, sized({ cpu: 2 }));
    const events = await api.store.sql<{ reason: string; details: object }>(
      'SELECT reason, details FROM events WHERE deployment_id = $1 ORDER BY id',
      [body.id],
    );
    expect(events).toMatchObject([
      { reason: 'Created' },
      { reason: 'Patched', details: { changed: ['source_config.resource_spec.cpu'] } },
    ]);
  });

  test.each<[string, object, number, (string | number)[] | null]>([
    ['it has another source', { source: 'internal_image' }, 409, null],
    ['it changes an immutable field', { source_config: { deployment_type: 'prod' } }, 400, ['source_config']],
    ['it clears a required field', { source_revision_config: {} }, 400, ['source_revision_config']],
    [
      'it shrinks the volume',
      { source_config: { resource_spec: { db_storage_gi: 1 } } },
      400,
      ['source_config', 'resource_spec', 'db_storage_gi'],
    ],
  ])('is rejected and writes nothing when %s', async (_what, more, status, path) => {
    const name = uniqueName();
    await put(name, bodyOf());
    const before = await api.rowCounts();
    const answer = await put(name, bodyOf(more as Record<string, unknown>));
    expect(answer.status, JSON.stringify(answer.body)).toBe(status);
    if (path !== null) expect(answer.body.detail[0]?.loc).toEqual(expect.arrayContaining(['body', ...path]));
    expect(await api.rowCounts()).toEqual(before);
  });

  test('keeps the image of an internal_image when the body names none', async () => {
    const name = uniqueName();
    const body = bodyOf({ source: 'internal_image', source_revision_config: {} });
    const { id } = (await put(name, body)).body;
    const source_revision_config = { image_uri: 'registry.example.com/shop/web:2' };
    await client.call('PATCH', `/v2/deployments/${id}`, { source_revision_config });
    const again = await put(name, body);
    expect(again).toMatchObject({ status: 200, body: { generation: 2, source_revision_config } });
  });

  test('masks secrets when the key may not read them', async () => {
    const name = uniqueName();
    await put(name, bodyOf({ secrets: [{ name: 'A', value: 'canary-5be0' }] }));
    const writer = await api.client(client.tenantId, ['deployments:write']);
    const { body } = await put(name, sized({ cpu: 1 }), {}, writer);
    expect(body.secrets).toEqual([{ name: 'A', value: SECRET_MASK }]);
  });
});

describe('the conditions of a PUT', () => {
  test('hold for the generation of the deployment', async () => {
    const name = uniqueName();
    await put(name, bodyOf());
    expect((await put(name, sized({ cpu: 1 }), { 'if-match': '"1"' })).status).toBe(200);
    expect((await put(name, sized({ cpu: 2 }), { 'if-match': '"1"' })).status).toBe(412);
    expect((await put(name, sized({ cpu: 2 }), { 'if-none-match': '*' })).status).toBe(412);
    expect((await put(name, sized({ cpu: 2 }), { 'if-none-match': '"2"' })).status).toBe(412);
    expect((await put(name, sized({ cpu: 2 }), { 'if-none-match': '"1"' })).status).toBe(200);
    expect((await put(name, sized({ cpu: 3 }), { 'if-match': '*' })).status).toBe(200);
  });

  test('hold when no deployment has the name', async () => {
    const name = uniqueName();
    const before = await api.rowCounts();
    expect((await put(name, bodyOf(), { 'if-match': '*' })).status).toBe(412);
    expect((await put(name, bodyOf(), { 'if-match': '"1"' })).status).toBe(412);
    expect(await api.rowCounts()).toEqual(before);
    expect((await put(name, bodyOf(), { 'if-none-match': '*' })).status).toBe(201);
  });
});

describe('an Idempotency-Key of a PUT', () => {
  const put2 = (name: string, body: unknown, key: string, more = {}) =>
    put(name, body, { 'idempotency-key': key, ...more });

  test('returns the deployment with the first status when the request is repeated, also with If-None-Match', async () => {
    const [name, key] = [uniqueName(), uniqueName('key')];
    const first = await put2(name, bodyOf(), key, { 'if-none-match': '*' });
    await put(name, sized({ cpu: 2 }));
    const again = await put2(name, bodyOf(), key, { 'if-none-match': '*' });
    expect([first.status, again.status]).toEqual([201, 201]);
    expect(again.body).toMatchObject({ id: first.body.id, generation: 2 });
  });

  test('does not repeat a change, and returns 409 for another body', async () => {
    const [name, key] = [uniqueName(), uniqueName('key')];
    await put(name, bodyOf());
    expect((await put2(name, sized({ cpu: 2 }), key)).body.generation).toBe(2);
    await put(name, sized({ cpu: 3 }));
    expect(await put2(name, sized({ cpu: 2 }), key)).toMatchObject({ status: 200, body: { generation: 3 } });
    expect((await put2(name, sized({ cpu: 4 }), key)).status).toBe(409);
  });
});

describe('the name in the path', () => {
  test.each([
    ['128 characters of 12 encoded characters each', '\u{1f6d2}'.repeat(128)],
    ['a slash', 'team/shop'],
    ['a percent sign and a query', '100%?a=b#c'],
    ['spaces inside', 'my shop'],
    ['a fixed part of another route', 'tag-values'],
  ])('may be or contain %s', async (_what, name) => {
    const tenant = await api.tenant();
    const first = await put(name, bodyOf(), {}, tenant);
    expect(first).toMatchObject({ status: 201, body: { name } });
    expect(await put(name, bodyOf(), {}, tenant)).toMatchObject({ status: 200, body: { id: first.body.id } });
  });

  test('finds the deployment in each spelling', async () => {
    const tenant = await api.tenant();
    const { body } = await put('cafe\u0301', bodyOf(), {}, tenant);
    expect(body.name).toBe('caf\u00e9');
    for (const spelling of ['caf\u00e9', ' cafe\u0301', 'caf\u00e9\u00a0']) {
      const again = await put(spelling, bodyOf({ name: 'cafe\u0301' }), {}, tenant);
      expect(again).toMatchObject({ status: 200, body: { id: body.id } });
    }
    await insert(api.store, tenant.tenantId, 'ae\u0301');
    const old = await put(
      'a\u00e9',
      { ...bodyOf(), source_revision_config: { image_uri: 'a/b:1' } },
      {},
      tenant,
    );
    expect(old).toMatchObject({ status: 200, body: { name: 'ae\u0301' } });
  });

  test.each(['.', '..', '%2e', '%2E%2e', '', '%00', '%20', 'x'.repeat(129), 'a%E2%80%8Bb'])(
    'is refused when the path ends with %j',
    async (name) => {
      const base = new URL(await baseUrl());
      const response = await new Promise<{ statusCode?: number; body: Promise<unknown> }>(
        (resolve, reject) => {
          const sent = request(
            {
              host: base.hostname,
              port: base.port,
              method: 'PUT',
              // No client changes this path.
              path: `/v2/deployments/by-name/${name}`,
              headers: { 'x-api-key': client.key, 'content-type': 'application/json' },
            },
            (answer) =>
              resolve({ ...(answer.statusCode && { statusCode: answer.statusCode }), body: json(answer) }),
          );
          sent.on('error', reject);
          sent.end(JSON.stringify(bodyOf()));
        },
      );
      const { detail } = (await response.body) as { detail: Issue[] };
      if (name === '') expect(response.statusCode).toBe(404);
      else {
        expect(response.statusCode).toBe(422);
        expect(detail[0]?.loc).toEqual(['path', 'name']);
      }
    },
  );

  test('cannot be a dot segment in a POST either', async () => {
    for (const name of ['.', '..']) {
      const answer = await client.call<Applied>('POST', '/v2/deployments', createBody({ name }));
      expect(answer).toMatchObject({ status: 422, body: { detail: [{ loc: ['body', 'name'] }] } });
    }
  });
});

let listening: Promise<string> | undefined;
const baseUrl = () => {
  listening ??= api.app.listen({ host: '127.0.0.1', port: 0 });
  return listening;
};

describe('concurrent requests', () => {
  test('create one deployment when all of them have the same new name and body', async () => {
    const name = uniqueName();
    const answers = await Promise.all([...Array(12)].map(() => put(name, bodyOf())));
    expect(answers.map(({ status }) => status).sort()).toEqual([...Array(11).fill(200), 201]);
    expect(new Set(answers.map(({ body }) => body.id)).size).toBe(1);
    expect(await named(name)).toMatchObject([{ generation: 1 }]);
    const [counted] = await api.store.sql<{ events: number }>(
      'SELECT count(*)::int AS events FROM events WHERE deployment_id = $1',
      [answers[0]?.body.id],
    );
    expect(counted).toEqual({ events: 1 });
  });

  test('apply every body once when the bodies differ', async () => {
    const name = uniqueName();
    const cpus = [1, 2, 3, 4, 5, 6];
    const answers = await Promise.all(cpus.map((cpu) => put(name, sized({ cpu }))));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 200, 200, 200, 200, 201]);
    expect(answers.map(({ body }) => body.generation).sort()).toEqual(cpus);
    expect(await named(name)).toHaveLength(1);
  });

  test('change the deployment that another request creates while the PUT waits for its name', async () => {
    const name = uniqueName();
    const added = newDeployment(name);
    const scope = api.store.database.forTenant(client.tenantId);
    let waiting: ReturnType<typeof put> | undefined;
    await scope.transaction(async (transaction) => {
      await insertDeployment(transaction, api.store.box, client.tenantId, added);
      waiting = put(name, sized({ cpu: 2 }));
      await untilLockWait(api.store, 'the PUT waits for the name');
    });
    expect(await waiting).toMatchObject({ status: 200, body: { id: added.id, generation: 2 } });
  });

  test('create a new deployment when the deletion of the old one commits while the PUT waits for its row', async () => {
    const name = uniqueName();
    const { id } = (await put(name, bodyOf())).body;
    const scope = api.store.database.forTenant(client.tenantId);
    let waiting: ReturnType<typeof put> | undefined;
    await scope.transaction(async (transaction) => {
      await transaction.query(
        'UPDATE deployments SET delete_requested_at = now(), purge_after = now() WHERE id = $1',
        [id],
      );
      waiting = put(name, bodyOf());
      await untilLockWait(api.store, 'the PUT waits for the row');
    });
    const answer = await waiting;
    expect(answer?.status).toBe(201);
    expect(answer?.body.id).not.toBe(id);
  });
});
