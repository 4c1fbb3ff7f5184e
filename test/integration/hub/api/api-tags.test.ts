/** Tags and tracing projects that are renamed or go. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ApiFixture, type Client, create, startApi, uniqueName } from '../../harness/api.ts';

interface Tag {
  id: string;
  key?: string;
  value?: string;
}
interface Listed {
  resources: { id: string }[];
}

let api: ApiFixture;
let client: Client;
beforeAll(async () => {
  api = await startApi();
  client = await api.tenant();
});
afterAll(() => api?.stop());

async function made(url: string, body: object): Promise<Tag> {
  const answer = await client.call<Tag>('POST', url, body);
  expect(answer.status).toBe(201);
  return answer.body;
}
const madeKey = () => made('/v2/tag-keys', { key: uniqueName() });
const madeValue = (key: Tag) => made(`/v2/tag-keys/${key.id}/values`, { value: uniqueName() });

const keyUrl = (key: Tag) => `/v2/tag-keys/${key.id}`;
const valueUrl = (key: Tag, value: Tag) => `${keyUrl(key)}/values/${value.id}`;
const give = (deployment: string, ...values: Tag[]) =>
  client.call<Listed>('PUT', `/v2/deployments/${deployment}/tag-values`, {
    tag_value_ids: values.map(({ id }) => id),
  });
const found = async (value: Tag) =>
  (await client.call<Listed>('GET', `/v2/deployments?tag_value_ids=${value.id}`)).body.resources.map(
    ({ id }) => id,
  );

describe('renaming a tag', () => {
  test('keeps the tag on its deployments', async () => {
    const key = await madeKey();
    const value = await madeValue(key);
    const { id } = await create(client);
    await give(id, value);
    const [newKey, newValue] = [uniqueName(), uniqueName()];
    expect((await client.call('PATCH', keyUrl(key), { key: newKey })).body).toEqual({ ...key, key: newKey });
    const renamed = await client.call('PATCH', valueUrl(key, value), { value: newValue });
    expect(renamed.body).toEqual({ ...value, value: newValue });
    expect(await found(value)).toEqual([id]);
    // Again, it changes nothing.
    expect((await client.call('PATCH', keyUrl(key), { key: newKey })).status).toBe(200);
    const events = await api.store.sql<{ reason: string; actor_kind: string }>(
      `SELECT reason, actor_kind FROM events WHERE details ->> 'tag_key_id' = $1 ORDER BY id`,
      [key.id],
    );
    expect(events.map(({ reason }) => reason)).toEqual([
      'TagCreated',
      'TagCreated',
      'TagChanged',
      'TagChanged',
    ]);
    expect(new Set(events.map(({ actor_kind: kind }) => kind))).toEqual(new Set(['api_key']));
  });

  test('returns 409 for a value that is taken, and 422 for an invalid one', async () => {
    const key = await madeKey();
    const other = await madeKey();
    const [value, sibling] = [await madeValue(key), await madeValue(key)];
    expect((await client.call('PATCH', keyUrl(key), { key: other.key })).status).toBe(409);
    expect((await client.call('PATCH', valueUrl(key, value), { value: sibling.value })).status).toBe(409);
    // Another key may have the same value.
    const elsewhere = await madeValue(other);
    expect((await client.call('PATCH', valueUrl(other, elsewhere), { value: value.value })).status).toBe(200);
    for (const body of [{}, { key: '' }, { key: 'a\nb' }, { key: 'x'.repeat(129) }, { key: 'a', id: 'b' }]) {
      expect((await client.call('PATCH', keyUrl(key), body)).status, JSON.stringify(body)).toBe(422);
    }
    // A value under a key that is not its own.
    expect((await client.call('PATCH', valueUrl(other, value), { value: 'x' })).status).toBe(404);
  });
});

describe('deletion of a tag', () => {
  test('removes a value from its deployments and keeps the other values', async () => {
    const key = await madeKey();
    const [value, sibling] = [await madeValue(key), await madeValue(key)];
    const { id } = await create(client);
    await give(id, value, sibling);
    expect((await client.call('DELETE', valueUrl(key, value))).status).toBe(204);
    expect((await client.call('DELETE', valueUrl(key, value))).status).toBe(404);
    expect(await found(value)).toEqual([]);
    expect(await found(sibling)).toEqual([id]);
    expect((await give(id, value)).status).toBe(400);
    const kept = await client.call<{ status: string; generation: number }>('GET', `/v2/deployments/${id}`);
    expect(kept.body.generation).toBe(1);
  });

  test('removes all values of a key', async () => {
    const key = await madeKey();
    const value = await madeValue(key);
    const { id } = await create(client);
    await give(id, value);
    expect((await client.call('DELETE', keyUrl(key))).status).toBe(204);
    expect((await client.call('DELETE', keyUrl(key))).status).toBe(404);
    expect((await client.call('GET', `${keyUrl(key)}/values`)).status).toBe(404);
    expect((await client.call('POST', `${keyUrl(key)}/values`, { value: 'x' })).status).toBe(404);
    expect(await found(value)).toEqual([]);
    const [left] = await api.store.sql<{ n: number }>(
      'SELECT count(*)::int AS n FROM deployment_tag_values WHERE deployment_id = $1',
      [id],
    );
    expect(left?.n).toBe(0);
    const [event] = await api.store.sql<{ actor_kind: string }>(
      `SELECT actor_kind FROM events WHERE reason = 'TagDeleted' AND details ->> 'tag_key_id' = $1`,
      [key.id],
    );
    expect(event?.actor_kind).toBe('api_key');
  });

  test('leaves nothing and causes no 500 while values are created and assigned', async () => {
    for (let round = 0; round < 6; round += 1) {
      const key = await madeKey();
      const value = await madeValue(key);
      const { id } = await create(client);
      const [deletion, creation, given] = await Promise.all([
        client.call('DELETE', keyUrl(key)),
        client.call('POST', `${keyUrl(key)}/values`, { value: 'late' }),
        give(id, value),
      ]);
      expect(deletion.status).toBe(204);
      expect([201, 404]).toContain(creation.status);
      expect([200, 400]).toContain(given.status);
      expect(await found(value)).toEqual([]);
    }
  });
});

describe('a tracing project', () => {
  test('can be deleted when no deployment uses it any more', async () => {
    const { id, tracing_project_id: project } = await create(client);
    const url = `/v2/tracing-projects/${project}`;
    const refused = await client.call<{ detail: string }>('DELETE', url);
    expect(refused).toMatchObject({
      status: 409,
      body: { detail: 'A deployment uses the tracing project.' },
    });
    await client.call('DELETE', `/v2/deployments/${id}`);
    expect((await client.call('DELETE', url)).status).toBe(409);
    // The cluster is clean: the record goes, the tracing project stays.
    await api.store.sql('DELETE FROM deployments WHERE id = $1', [id]);
    expect((await client.call('GET', url)).status).toBe(200);
    expect((await client.call('DELETE', url)).status).toBe(204);
    expect((await client.call('DELETE', url)).status).toBe(404);
    const [event] = await api.store.sql<{ actor_kind: string }>(
      `SELECT actor_kind FROM events WHERE reason = 'TracingProjectDeleted' AND details ->> 'tracing_project_id' = $1`,
      [project],
    );
    expect(event?.actor_kind).toBe('api_key');
  });

  test('cannot be deleted without the scope deployments:write', async () => {
    const reader = await api.client(client.tenantId, ['deployments:read']);
    const { tracing_project_id: project } = await create(client);
    expect((await reader.call('DELETE', `/v2/tracing-projects/${project}`)).status).toBe(403);
  });
});
