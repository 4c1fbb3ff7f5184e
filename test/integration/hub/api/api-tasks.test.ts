/** Tasks over HTTP, without a cluster: what is rejected, quotas, repetitions, tenants and listeners. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { resolvePolicy } from '../../../../src/domain/policy/policy.ts';
import { ALL_SCOPES, type ApiFixture, type Client, create, startApi } from '../../harness/api.ts';

let api: ApiFixture;
let client: Client;
const base = resolvePolicy('self_hosted');
const policy = {
  ...base,
  caps: { ...base.caps, cpu: 8, memory_mb: 8192 },
  tenant_counts: { ...base.tenant_counts, running_tasks: 2 },
};
beforeAll(async () => {
  api = await startApi({ deps: { policy } });
  client = await api.tenant(ALL_SCOPES);
});
afterAll(() => api?.stop());

interface Task {
  id: string;
  state: string;
  created_by: { kind: string };
}
type Issues = { detail: { loc: string[]; msg: string; type: string }[] };

/** A deployment whose first revision is active. */
async function active(of: Client = client): Promise<string> {
  const { id, latest_revision_id: revision } = await create(of, {
    source_revision_config: { image_uri: 'registry.example.com/shop/web:1' },
  });
  await api.store.sql('UPDATE deployments SET active_revision_id = $2 WHERE id = $1', [id, revision]);
  return id;
}
const path = (id: string, rest = '') => `/v2/deployments/${id}/tasks${rest}`;
const run = <T = Task>(id: string, body: object = { command: ['migrate'] }, of = client, headers = {}) =>
  of.call<T>('POST', path(id), body, headers);

describe('POST …/tasks', () => {
  test('stores the order, and repeats the response for the same Idempotency-Key', async () => {
    const own = await api.tenant(ALL_SCOPES);
    const id = await active(own);
    const first = await run(id, undefined, own, { 'idempotency-key': 'once' });
    expect(first).toMatchObject({ status: 201, body: { state: 'QUEUED', created_by: { kind: 'api_key' } } });
    const again = await run(id, undefined, own, { 'idempotency-key': 'once' });
    expect(again.body.id).toBe(first.body.id);
    const other = await run(id, { command: ['other'] }, own, { 'idempotency-key': 'once' });
    expect(other.status).toBe(409);
  });

  test.each([
    ['no command', {}, 'command'],
    ['an empty command', { command: [] }, 'command'],
    ['an empty program', { command: [''] }, 'command'],
    ['a control character', { command: ['a\u0000b'] }, 'command'],
    ['a component that does not exist', { command: ['a'], component: 'cron' }, 'component'],
    ['a timeout of 0', { command: ['a'], timeout_seconds: 0 }, 'timeout_seconds'],
    ['a timeout above a day', { command: ['a'], timeout_seconds: 86_401 }, 'timeout_seconds'],
    ['an unknown field', { command: ['a'], image: 'x' }, 'image'],
  ])('rejects %s and names the field', async (_what, body, field) => {
    const { status, body: answer } = await run<Issues>(await active(), body);
    expect(status).toBe(422);
    expect(JSON.stringify(answer.detail)).toContain(field);
  });

  test('rejects sizes above the caps of the policy', async () => {
    const { status, body } = await run<Issues>(await active(), { command: ['a'], cpu: 9, memory_mb: 9000 });
    expect(status).toBe(400);
    expect(body.detail.map(({ loc }) => loc.join('.'))).toEqual(['body.cpu', 'body.memory_mb']);
  });

  test('rejects a deployment without an active revision, one that is off, and one that is being deleted', async () => {
    const { id } = await create(client, {});
    expect((await run(id)).status).toBe(409);
    const off = await active();
    const resource_spec = { min_scale: 0, max_scale: 0 };
    await client.call('PATCH', `/v2/deployments/${off}`, { source_config: { resource_spec } });
    expect(await run(off)).toMatchObject({
      status: 409,
      body: { detail: expect.stringContaining('switched off') },
    });
    const leaving = await active();
    await client.call('DELETE', `/v2/deployments/${leaving}`);
    expect((await run(leaving)).status).toBe(409);
  });

  test('needs the scope tasks:run', async () => {
    const reader = await api.tenant(['deployments:read', 'deployments:write']);
    const id = await active(reader);
    expect((await run(id, undefined, reader)).status).toBe(403);
    expect((await reader.call('GET', path(id))).status).toBe(200);
  });

  test('rejects a task above the quota, also when many arrive at once, and accepts one after a cancellation', async () => {
    const own = await api.tenant(ALL_SCOPES);
    const id = await active(own);
    const answers = await Promise.all(Array.from({ length: 6 }, () => run(id, undefined, own)));
    const made = answers.filter(({ status }) => status === 201);
    expect(made).toHaveLength(2);
    expect(answers.filter(({ status }) => status === 400)).toHaveLength(4);
    // No listener has got the task, so nothing can have started.
    const cancelled = await own.call<Task>('POST', path(id, `/${made[0]?.body.id}/cancel`));
    expect(cancelled.body.state).toBe('CANCELLED');
    expect((await run(id, undefined, own)).status).toBe(201);
  });
});

test('does not show tasks of other tenants', async () => {
  const other = await api.tenant(ALL_SCOPES);
  const own = await api.tenant(ALL_SCOPES);
  const id = await active(own);
  const { body } = await run(id, undefined, own);
  const one = path(id, `/${body.id}`);
  expect((await own.call('GET', one)).status).toBe(200);
  for (const [method, at] of [
    ['GET', path(id)],
    ['GET', one],
    ['POST', `${one}/cancel`],
    ['GET', `${one}/logs`],
  ] as const)
    expect((await other.call(method, at)).status, `${method} ${at}`).toBe(404);
  expect((await own.call('GET', `${one}/logs`)).status).toBe(409);
});
