/** Idempotency-Key: the same request twice, and at once, makes one deployment. */
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { resolvePolicy } from '../../../../src/domain/policy/policy.ts';
import {
  type ApiFixture,
  type Client,
  createBody,
  type Deployment,
  startApi,
  uniqueName,
} from '../../harness/api.ts';

let api: ApiFixture;
let client: Client;
beforeAll(async () => {
  api = await startApi();
  client = await api.tenant();
});
afterAll(() => api.stop());

const post = (body: unknown, key: string, by: Client = client) =>
  by.call<Deployment & { detail?: unknown }>('POST', '/v2/deployments', body, { 'idempotency-key': key });

test('a repeated request with the same Idempotency-Key returns the first response and writes nothing', async () => {
  const body = createBody({ secrets: [{ name: 'A', value: 'x' }] });
  const key = uniqueName('key');
  const first = await post(body, key);
  const counts = await api.rowCounts();
  const { name, ...rest } = body;
  const second = await post({ ...rest, name }, key);
  expect(second.status).toBe(201);
  expect(second.body).toEqual(first.body);
  expect(await api.rowCounts()).toEqual(counts);
});

test('null and an absent field count as the same body', async () => {
  const key = uniqueName('key');
  const body = createBody({ source_config: { resource_spec: { cpu: 1 } } });
  const first = await post(body, key);
  const spelled = { ...body, source_config: { repo_url: null, resource_spec: { cpu: 1, db_cpu: null } } };
  const second = await post(spelled, key);
  expect([second.status, second.body.id]).toEqual([201, first.body.id]);
});

test('another body with the same Idempotency-Key returns 409', async () => {
  const key = uniqueName('key');
  const body = createBody();
  await post(body, key);
  const other = await post(createBody(), key);
  expect(other).toMatchObject({ status: 409, body: { detail: expect.stringContaining('Idempotency-Key') } });
});

test('many requests with the same Idempotency-Key at once create one deployment', async () => {
  const body = createBody();
  const key = uniqueName('key');
  const answers = await Promise.all([...Array(12)].map(() => post(body, key)));
  expect(answers.map(({ status }) => status)).toEqual(Array(12).fill(201));
  expect(new Set(answers.map((answer) => answer.body.id)).size).toBe(1);
});

test('a repeated request returns the first response although the policy has become stricter', async () => {
  const [body, key] = [createBody({ source_config: { resource_spec: { cpu: 4 } } }), uniqueName('key')];
  const first = await post(body, key);
  const { database, box: secretBox } = api.store;
  const policy = resolvePolicy('self_hosted', { caps: { cpu: 2 } });
  const later = await startApi({ deps: { database, secretBox, policy } });
  onTestFinished(() => later.stop());
  const send = (of: string) =>
    later.app.inject({
      method: 'POST',
      url: '/v2/deployments',
      headers: { 'x-api-key': client.key, 'idempotency-key': of },
      payload: body,
    });
  const again = await send(key);
  expect([again.statusCode, again.json().id]).toEqual([201, first.body.id]);
  expect((await send(uniqueName('key'))).statusCode).toBe(400);
});

test('a rejected request does not use up the Idempotency-Key', async () => {
  const key = uniqueName('key');
  const taken = createBody();
  await client.call('POST', '/v2/deployments', taken);
  expect((await post(taken, key)).status).toBe(409);
  expect((await post(createBody(), key)).status).toBe(201);
});

test('a dry run does not use up the Idempotency-Key', async () => {
  const key = uniqueName('key');
  const body = createBody();
  const dry = await client.call('POST', '/v2/deployments?dry_run=true', body, { 'idempotency-key': key });
  expect(dry.status).toBe(200);
  expect((await post(createBody(), key)).status).toBe(201);
});

test('the same Idempotency-Key of another tenant creates another deployment', async () => {
  const key = uniqueName('key');
  const body = createBody();
  const first = await post(body, key);
  const second = await post(body, key, await api.tenant());
  expect(second.status).toBe(201);
  expect(second.body.id).not.toBe(first.body.id);
});

test.each(['', 'with blank', 'x'.repeat(256), 'ümlaut'])(
  'the Idempotency-Key "%s" returns 422',
  async (key) => {
    const answer = await post(createBody(), key);
    expect(answer.status).toBe(422);
    expect(answer.body.detail).toMatchObject([{ loc: ['header', 'idempotency-key'] }]);
  },
);
