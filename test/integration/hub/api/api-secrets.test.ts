/** Changes of single secrets, by keys that may not read secrets. */
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { resolvePolicy } from '../../../../src/domain/policy/policy.ts';
import { SECRET_MASK } from '../../../../src/domain/redaction/secret-list.ts';
import {
  type ApiFixture,
  type Client,
  create,
  type Deployment,
  type Issue,
  startApi,
} from '../../harness/api.ts';

interface Changed {
  id: string;
  names: string[];
  generation: number;
  latest_revision_id: string | null;
  detail: Issue[] & string;
}

let api: ApiFixture;
let client: Client;
let writer: Client;
beforeAll(async () => {
  api = await startApi({ deps: { policy: resolvePolicy('self_hosted', { caps: { secrets: 3 } }) } });
  client = await api.tenant();
  writer = await api.client(client.tenantId, ['deployments:write']);
});
afterAll(() => api.stop());

const TOKEN = { name: 'TOKEN', value: 'canary-71c0' };
const KEY = { name: 'KEY', value: 'canary-2f9b' };
const made = () => create(client, { secrets: [TOKEN, KEY] });
const change = (id: string, body: unknown, headers = {}, by = writer) =>
  by.call<Changed>('PATCH', `/v2/deployments/${id}/secrets`, body, headers);
const read = async (id: string) => (await client.call<Deployment>('GET', `/v2/deployments/${id}`)).body;

describe('a change of secrets', () => {
  test('merges, creates a revision and returns names without values when the key may not read secrets', async () => {
    const { id, latest_revision_id: first } = await made();
    const answer = await change(id, {
      set: [
        { name: 'NEW', value: 'canary-0001' },
        { name: 'KEY', value: 'canary-0002' },
      ],
      unset: ['TOKEN', 'UNKNOWN'],
    });
    expect(answer).toMatchObject({
      status: 200,
      headers: { etag: '"2"' },
      body: { id, names: ['KEY', 'NEW'], generation: 2 },
    });
    expect(JSON.stringify(answer.body)).not.toContain('canary');
    const after = await read(id);
    expect(after.secrets).toEqual([
      { name: 'KEY', value: 'canary-0002' },
      { name: 'NEW', value: 'canary-0001' },
    ]);
    expect(after.latest_revision_id).toBe(answer.body.latest_revision_id);
    expect(after.latest_revision_id).not.toBe(first);
  });

  test('records the event of a PATCH, without values', async () => {
    const { id } = await made();
    await change(id, { set: [{ name: 'KEY', value: 'canary-0003' }] });
    const [event] = await api.store.sql<{ text: string; details: object; actor_name: string }>(
      `SELECT details, actor_name, events::text AS text FROM events
       WHERE deployment_id = $1 ORDER BY id DESC LIMIT 1`,
      [id],
    );
    expect(event).toMatchObject({ details: { changed: ['secrets'] }, actor_name: 'test' });
    expect(event?.text).not.toContain('canary');
  });

  test.each<[string, object]>([
    ['the body is empty', {}],
    ['the values are stored already', { set: [TOKEN] }],
    ['the name to unset is unknown', { unset: ['UNKNOWN'] }],
    ['the mask is set for a stored name', { set: [{ name: 'TOKEN', value: SECRET_MASK }] }],
  ])('writes nothing when %s', async (_what, body) => {
    const { id } = await made();
    const before = await api.rowCounts();
    const answer = await change(id, body);
    expect(answer).toMatchObject({ status: 200, body: { names: ['TOKEN', 'KEY'], generation: 1 } });
    expect(await api.rowCounts()).toEqual(before);
  });

  test('keeps all of them when many clients set a different name at once', async () => {
    const { id } = await create(client);
    const names = ['A', 'B', 'C'];
    const answers = await Promise.all(names.map((name) => change(id, { set: [{ name, value: name }] })));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(answers.map(({ body }) => body.generation).sort()).toEqual([2, 3, 4]);
    expect((await read(id)).secrets.map(({ name }) => name).sort()).toEqual(names);
  });

  test('returns 412 when If-Match is stale, and changes nothing', async () => {
    const { id } = await made();
    await change(id, { unset: ['KEY'] }, { 'if-match': '"1"' });
    const answer = await change(id, { unset: ['TOKEN'] }, { 'if-match': '"1"' });
    expect(answer.status).toBe(412);
    expect((await read(id)).secrets).toEqual([TOKEN]);
  });

  test.each<[string, object, number, (string | number)[]]>([
    ['a name is set and unset', { set: [TOKEN], unset: ['TOKEN'] }, 400, ['set', 0, 'name']],
    [
      'the mask is set for an unknown name',
      { set: [{ name: 'X', value: SECRET_MASK }] },
      400,
      ['set', 0, 'value'],
    ],
    [
      'the merged list exceeds the policy',
      {
        set: [
          { name: 'X', value: '1' },
          { name: 'Y', value: '2' },
        ],
      },
      400,
      ['set'],
    ],
    ['a name is reserved', { set: [{ name: 'DATABASE_URI', value: 'x' }] }, 422, ['set', 0, 'name']],
    ['a field is unknown', { secrets: [] }, 422, ['secrets']],
  ])('names the field when %s', async (_what, body, status, path) => {
    const { id } = await made();
    const before = await api.rowCounts();
    const answer = await change(id, body);
    expect(answer.status, JSON.stringify(answer.body)).toBe(status);
    expect(answer.body.detail[0]?.loc).toEqual(['body', ...path]);
    expect(await api.rowCounts()).toEqual(before);
  });

  test('returns 409 when the deployment is being deleted', async () => {
    const { id } = await made();
    await client.call('DELETE', `/v2/deployments/${id}`);
    expect((await change(id, { unset: ['KEY'] })).status).toBe(409);
  });

  test('returns 409 when the stored secrets cannot be decrypted, because they cannot be merged', async () => {
    const { id } = await made();
    await api.store.sql(`UPDATE secret_sets SET sealed = '\\x00' WHERE deployment_id = $1`, [id]);
    const answer = await change(id, { set: [KEY] });
    expect(answer).toMatchObject({ status: 409, body: { detail: expect.stringContaining('decrypted') } });
  });
});

describe('a change of secrets when the policy became narrower than stored values', () => {
  const DATABASE = { name: 'DATABASE_URI_CUSTOM', value: 'postgres://user@db.invalid/x' };
  const CPU = { resource_spec: { cpu: 4 } };

  /** A PATCH of a deployment with three secrets and four cores, where the policy allows one secret and two cores. */
  async function changeStrictly(path: string, body: object) {
    const { id } = await create(client, { secrets: [TOKEN, KEY, DATABASE], source_config: CPU });
    const { database, box: secretBox } = api.store;
    const policy = resolvePolicy('self_hosted', { caps: { secrets: 1, cpu: 2 } });
    const strict = await startApi({ deps: { database, secretBox, policy } });
    onTestFinished(() => strict.stop());
    const answer = await strict.app.inject({
      method: 'PATCH',
      url: `/v2/deployments/${id}${path}`,
      headers: { 'x-api-key': client.key },
      payload: body,
    });
    return { status: answer.statusCode, detail: answer.json().detail, after: await read(id) };
  }

  const rotated = { ...TOKEN, value: 'canary-9999' };

  test.each<[string, string, object, object[]]>([
    ['removes a secret', '/secrets', { unset: ['TOKEN'] }, [KEY, DATABASE]],
    ['replaces a value', '/secrets', { set: [rotated] }, [rotated, KEY, DATABASE]],
    ['replaces the list by a shorter one', '', { secrets: [rotated, DATABASE] }, [rotated, DATABASE]],
  ])('%s', async (_what, path, body, secrets) => {
    const { status, detail, after } = await changeStrictly(path, body);
    expect(status, JSON.stringify(detail)).toBe(200);
    expect(after).toMatchObject({ secrets, source_config: CPU });
  });

  test('rejects one more secret', async () => {
    const { status, detail } = await changeStrictly('/secrets', { set: [{ name: 'X', value: '1' }] });
    expect([status, detail]).toMatchObject([400, [{ loc: ['body', 'set'], type: 'policy_environment' }]]);
  });

  test('checks source_config when the change moves the database into the cluster', async () => {
    const { status, detail, after } = await changeStrictly('/secrets', { unset: [DATABASE.name] });
    expect(status).toBe(400);
    const loc = ['body', 'source_config', 'resource_spec', 'cpu'];
    expect(detail).toContainEqual(expect.objectContaining({ loc, type: 'policy_cap' }));
    expect(after.secrets).toHaveLength(3);
  });
});
