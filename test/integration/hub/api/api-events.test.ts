/** The lists of events: filters, cursors and their errors. Streams are in event-streams.test.ts. */
import pg from 'pg';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { uuidv7 } from '../../../../src/domain/core/id.ts';
import { ALL_SCOPES, type ApiFixture, type Client, create, type Issue, startApi } from '../../harness/api.ts';

let api: ApiFixture;
beforeAll(async () => {
  api = await startApi();
});
afterAll(() => api?.stop());

interface Page {
  resources: { id: string; reason: string; at: string; tenant_id: string; deployment_id: string | null }[];
  offset: number | null;
  cursor: string | null;
  detail: Issue[];
}

const list = async (client: Client, query = '', path = '/v2/events') =>
  client.call<Page>('GET', `${path}${query}`);
const reasons = ({ body }: { body: Page }) => body.resources.map(({ reason }) => reason);

test('filters by deployment, reason and time', async () => {
  const client = await api.tenant();
  const [first, second] = [await create(client), await create(client)];
  await client.call('DELETE', `/v2/deployments/${first.id}`);
  const { body: all } = await list(client);
  expect(all.resources.map(({ reason, deployment_id: id }) => [reason, id])).toEqual([
    ['DeletionRequested', first.id],
    ['Created', second.id],
    ['Created', first.id],
  ]);
  expect(reasons(await list(client, `?deployment_id=${first.id}`))).toEqual(['DeletionRequested', 'Created']);
  expect(reasons(await list(client, `?deployment_id=${first.id}&reason=Created`))).toEqual(['Created']);
  expect(reasons(await list(client, '?reason=Created,DeletionRequested'))).toHaveLength(3);
  expect(reasons(await list(client, '?reason=Created&reason=Patched'))).toEqual(['Created', 'Created']);
  const at = encodeURIComponent(all.resources[0]?.at ?? '');
  expect(reasons(await list(client, `?since=${at}`))[0]).toBe('DeletionRequested');
  expect(reasons(await list(client, `?until=${at}`))).not.toContain('DeletionRequested');
  const path = `/v2/deployments/${first.id}/events`;
  expect(reasons(await list(client, '?reason=Created', path))).toEqual(['Created']);
  expect(reasons(await list(client, '?reason=Patched', path))).toEqual([]);
});

test('returns no event when the deployment of the filter is unknown or of another tenant', async () => {
  const [client, other] = [await api.tenant(), await api.tenant()];
  const foreign = await create(other);
  for (const id of [uuidv7(), foreign.id]) {
    const answer = await list(client, `?deployment_id=${id}`);
    expect(answer).toMatchObject({ status: 200, body: { resources: [], cursor: null } });
    expect((await list(client, '?reason=Created', `/v2/deployments/${id}/events`)).status).toBe(404);
  }
});

test('pages by cursor to the end, also when events are added between the pages', async () => {
  const client = await api.tenant();
  const made = [];
  for (let count = 0; count < 5; count += 1) made.unshift((await create(client)).id);
  const seen: (string | null)[] = [];
  let query = '?limit=2';
  for (;;) {
    const { body } = await list(client, query);
    seen.push(...body.resources.map(({ deployment_id: id }) => id));
    expect(body.offset).toBe(query.includes('cursor') ? null : 2);
    if (body.cursor === null) break;
    expect(body.resources).toHaveLength(2);
    query = `?limit=2&cursor=${body.cursor}`;
    await create(client);
  }
  expect(seen).toEqual(made);
  // The offset works as in other lists.
  const { body } = await list(client, '?limit=2&offset=2');
  expect(body.offset).toBe(4);
});

test('has no cursor when the page is the last one', async () => {
  const client = await api.tenant();
  for (let count = 0; count < 2; count += 1) await create(client);
  expect((await list(client, '?limit=2')).body.cursor).toBeNull();
  expect((await list(client, '?limit=1')).body.cursor).toEqual(expect.any(String));
});

test('a cursor of another tenant shows no events of this tenant', async () => {
  const [client, other] = [await api.tenant(), await api.tenant()];
  await create(client);
  await create(other);
  await create(other);
  const { cursor } = (await list(other, '?limit=1')).body;
  const { body } = await list(client, `?cursor=${cursor}`);
  expect(body.resources.every(({ tenant_id: tenantId }) => tenantId === client.tenantId)).toBe(true);
});

test.each([
  ['?since=2026-01-02T00:00:00Z&until=2026-01-01T00:00:00Z', 'until', 'must be after since'],
  ['?since=now', 'since', 'time'],
  ['?reason=Patcht', 'reason', 'is not the reason of an event'],
  ['?deployment_id=shop', 'deployment_id', ''],
  ['?cursor=tomorrow', 'cursor', 'must be the cursor of a page of this list'],
  ['?follow=true&cursor=tomorrow', 'cursor', 'must be the cursor of a line of a stream'],
  [`?follow=true&cursor=7_${uuidv7()}`, 'cursor', 'names an event that is not stored'],
])('rejects the query %s with an error that names %s', async (query, field, message) => {
  const { status, body } = await list(await api.tenant(), query);
  expect(status).toBe(422);
  expect(body.detail[0]?.loc.slice(0, 2)).toEqual(['query', field]);
  expect(body.detail[0]?.msg).toContain(message);
});

test('filters the history of the platform when the key belongs to no tenant', async () => {
  const [first, second] = [await api.tenant(), await api.tenant()];
  const [one, two] = [await create(first), await create(second)];
  const admin = await api.client(null, ALL_SCOPES);
  const { body } = await list(admin, '?reason=Created&limit=2');
  expect(body.resources.map(({ deployment_id: id }) => id)).toEqual([two.id, one.id]);
  const next = await list(admin, `?reason=Created&limit=1&cursor=${body.resources[0]?.id}`);
  expect(next.body.resources.map(({ deployment_id: id }) => id)).toEqual([one.id]);
  expect((await list(admin, `?deployment_id=${one.id}`)).body.resources).toHaveLength(1);
});

test('answers 503 while a migration locks the history for longer than 10 s, and afterwards as before', async () => {
  const client = await api.tenant();
  const { id } = await create(client);
  const migration = new pg.Client({ connectionString: api.store.url });
  await migration.connect();
  onTestFinished(() => migration.end());
  // As ALTER TABLE and CREATE INDEX of the migration do (docs/install.md, Upgrade).
  await migration.query('BEGIN; LOCK TABLE events IN ACCESS EXCLUSIVE MODE');
  const [history, change, deployment] = await Promise.all([
    list(client),
    client.call('DELETE', `/v2/deployments/${id}`),
    client.call('GET', `/v2/deployments/${id}`),
  ]);
  expect([history.status, change.status, deployment.status]).toEqual([503, 503, 200]);
  expect(Number(history.headers['retry-after'])).toBeGreaterThan(0);
  await migration.query('COMMIT');
  expect(reasons(await list(client))).toEqual(['Created']);
});
