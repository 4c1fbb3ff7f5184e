/** Streams of changes, over real connections to two replicas of the API with one database. */
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { closeGracefully } from '../../../../src/hub/api/core/graceful-shutdown.ts';
import { createChangeHints } from '../../../../src/hub/api/watch/change-hints.ts';
import { listenForWork, type Notifications } from '../../../../src/hub/store/core/notifications.ts';
import { waitFor } from '../../../cluster/wait.ts';
import { ALL_SCOPES, type ApiFixture, type Client, create, startApi } from '../../harness/api.ts';
import { type LineReader, readLines } from '../../harness/line-reader.ts';

let first: ApiFixture;
let second: ApiFixture;
let address: Record<'first' | 'second', string>;
let notifications: Notifications;
/** Decides whether a payload reaches the first replica. */
let passes: (payload: string) => boolean = () => true;
const hints = createChangeHints();
/** Short enough for a test, and long enough to tell it from a notification. */
const SWEEP_MS = 1_500;

beforeAll(async () => {
  first = await startApi({ deps: { changeHints: hints, sweepMs: SWEEP_MS } });
  // No notification reaches the second replica.
  second = await startApi({ store: first.store, deps: { sweepMs: SWEEP_MS } });
  notifications = listenForWork({
    url: first.store.url,
    logger: first.store.logger,
    onWork: () => undefined,
    onChanges: (payloads) => hints.notify([...payloads].filter(passes)),
    onRescan: () => hints.lost(),
  });
  await notifications.armed;
  const listen = (api: ApiFixture) => api.app.listen({ host: '127.0.0.1', port: 0 });
  address = { first: await listen(first), second: await listen(second) };
});
afterAll(async () => {
  await notifications?.close();
  await second?.stop();
  await first?.stop();
});

const until = (what: string, probe: () => boolean | Promise<boolean>, timeoutMs = 30_000) =>
  waitFor(what, async () => (await probe()) || undefined, { timeoutMs, intervalMs: 20 });

const changesOf = ({ lines }: LineReader) => lines.filter(({ type }) => type === 'change');
const resetsOf = ({ lines }: LineReader) => lines.filter(({ type }) => type === 'reset').length;
const seen = (stream: LineReader, deployment: string | null, generation: number | null) =>
  changesOf(stream).some((line) => line['deployment_id'] === deployment && line['generation'] === generation);

/** Opens a stream that has sent its reset. */
async function watch(client: Client, at = address.first) {
  const stream = await readLines(at, '/v2/watch', client.key);
  onTestFinished(stream.leave);
  expect(stream.status).toBe(200);
  await until('the reset', () => stream.lines.length > 0);
  expect(stream.lines).toEqual([{ type: 'reset' }]);
  return stream;
}

const scale = (client: Client, id: string, max: number) =>
  client.call('PATCH', `/v2/deployments/${id}`, { source_config: { resource_spec: { max_scale: max } } });

test.each(['first', 'second'] as const)(
  'sends each change of the tenant, and none of another tenant, on the %s replica',
  async (replica) => {
    const [client, other] = [await first.tenant(), await first.tenant()];
    const [stream, others] = [await watch(client, address[replica]), await watch(other, address[replica])];
    const { id } = await create(client);
    await until('the creation', () => seen(stream, id, 1));
    await scale(client, id, 2);
    await until('the change', () => seen(stream, id, 2));
    const before = changesOf(stream).length;
    // An observation of the operator, which writes no event.
    await first.store.sql(
      `UPDATE deployments SET conditions = '[{"type": "Ready"}]', observed_generation = 2 WHERE id = $1`,
      [id],
    );
    await until('the observation', () => changesOf(stream).length > before);
    await client.call('POST', '/v2/tag-keys', { key: 'team' });
    await until('the change of the tenant', () => seen(stream, null, null));
    await client.call('DELETE', `/v2/deployments/${id}`);
    await until('the deletion', () => seen(stream, id, 3));
    expect(changesOf(others)).toEqual([]);
    expect(resetsOf(stream)).toBe(1);
    const keys = changesOf(stream).map((line) => line['key']);
    expect(new Set(keys).size).toBe(keys.length);
  },
);

test('arrives within a second when notifications work, while a sweep would take longer', async () => {
  const client = await first.tenant();
  const { id } = await create(client);
  const stream = await watch(client);
  await scale(client, id, 2);
  const at = performance.now();
  await until('the change', () => seen(stream, id, 2));
  expect(performance.now() - at).toBeLessThan(1_000);
});

test('misses no final state when notifications are dropped', { timeout: 60_000 }, async () => {
  const client = await first.tenant();
  const deployments = [await create(client), await create(client), await create(client)];
  const stream = await watch(client);
  let count = 0;
  passes = () => {
    count += 1;
    return count % 3 === 0;
  };
  onTestFinished(() => {
    passes = () => true;
  });
  /** What a client shows that reads a deployment for each line. */
  const shown = new Map<string, number>();
  let read = 0;
  const follow = async () => {
    for (; read < stream.lines.length; read += 1) {
      const id = stream.lines[read]?.['deployment_id'];
      if (typeof id !== 'string') continue;
      const { body } = await client.call<{ generation: number }>('GET', `/v2/deployments/${id}`);
      shown.set(id, body.generation);
    }
  };
  for (let round = 0; round < 8; round += 1) {
    for (const { id } of deployments) await scale(client, id, 2 + (round % 2));
    await follow();
  }
  await until('the final states', async () => {
    await follow();
    return deployments.every(({ id }) => shown.get(id) === 9);
  });
  expect(count).toBeGreaterThan(20);
});

test('finds the change of a transaction that committed after later ones when its notification is dropped', async () => {
  const client = await first.tenant();
  const [early, late] = [await create(client), await create(client)];
  const stream = await watch(client, address.second);
  let commit = () => {};
  const committing = new Promise<void>((resolve) => {
    commit = resolve;
  });
  const slow = first.store.database.platform.transaction(async (transaction) => {
    await transaction.query('UPDATE deployments SET url = $2 WHERE id = $1', [early.id, 'https://a.example']);
    await committing;
  });
  await scale(client, late.id, 2);
  await until('the later change', () => seen(stream, late.id, 2));
  commit();
  await slow;
  await until('the earlier change', () => seen(stream, early.id, 1));
});

test('sends a reset when the notification connection was lost', async () => {
  const stream = await watch(await first.tenant());
  await first.store.sql(
    // The connection checks itself at intervals.
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
     WHERE datname = current_database() AND pid <> pg_backend_pid() AND (query LIKE 'LISTEN%' OR query = 'SELECT 1')`,
  );
  await until('the reset', () => resetsOf(stream) === 2);
});

test.each(['first', 'second'] as const)(
  'sends a reset when a listener of the platform is lost, on the %s replica',
  async (replica) => {
    const stream = await watch(await first.tenant(), address[replica]);
    await first.store.sql(
      'UPDATE listeners SET cluster_reachable = NOT cluster_reachable WHERE tenant_id IS NULL',
    );
    await until('the reset', () => resetsOf(stream) > 1);
  },
);

test('sends one reset instead of many changes', async () => {
  const client = await first.tenant();
  const { id } = await create(client);
  const stream = await watch(client);
  await first.store.sql(
    `INSERT INTO events (id, tenant_id, deployment_id, actor_kind, reason, message)
     SELECT gen_random_uuid(), $1, gen_random_uuid(), 'system', 'Patched', '' FROM generate_series(1, 1000)`,
    [client.tenantId],
  );
  await until('the reset', () => resetsOf(stream) === 2);
  await scale(client, id, 2);
  await until('the next change', () => seen(stream, id, 2));
});

test('ends within 5 s when the key is revoked, also if the client is quiet', async () => {
  const client = await first.tenant();
  const reader = await first.client(client.tenantId, ['deployments:read']);
  const streams = [
    await watch(reader),
    await watch(reader, address.second),
    await readLines(address.second, '/v2/events?follow=true', reader.key),
  ];
  const { body } = await client.call<{ resources: { id: string; scopes: string[] }[] }>(
    'GET',
    '/v2/api-keys',
  );
  const key = body.resources.find(({ scopes }) => scopes.length === 1);
  await client.call('DELETE', `/v2/api-keys/${key?.id}`);
  const at = performance.now();
  await Promise.all(streams.map(({ ended }) => ended));
  expect(performance.now() - at).toBeLessThan(5_000);
  for (const { lines } of streams)
    expect(lines.at(-1)).toMatchObject({ end: 'The API key is no longer valid.', reason: 'denied' });
});

test('rejects streams of a key that was revoked, also while the key is cached', async () => {
  const client = await first.tenant();
  const reader = await first.client(client.tenantId, ['deployments:read']);
  for (const at of [address.first, address.second])
    expect((await fetch(`${at}/v2/deployments`, { headers: { 'x-api-key': reader.key } })).status).toBe(200);
  await first.store.sql('DELETE FROM api_keys WHERE tenant_id = $1 AND cardinality(scopes) = 1', [
    client.tenantId,
  ]);
  for (const path of ['/v2/watch', '/v2/events?follow=true'])
    for (const at of [address.first, address.second]) {
      const stream = await readLines(at, path, reader.key);
      expect(stream.status).toBe(401);
      stream.leave();
    }
});

test('ends in order when the API shuts down', async () => {
  const api = await startApi({ store: first.store });
  const client = await first.tenant();
  const stream = await watch(client, await api.app.listen({ host: '127.0.0.1', port: 0 }));
  await closeGracefully(api.app);
  await stream.ended;
  expect(stream.lines.at(-1)).toMatchObject({ end: expect.stringMatching(/shuts down/), reason: 'continue' });
});

test('needs the scope deployments:read, and a tenant', async () => {
  const listener = await first.client(null, ['listeners:run']);
  expect((await listener.call('GET', '/v2/watch')).status).toBe(403);
  const admin = await first.client(null, ALL_SCOPES);
  expect((await admin.call('GET', '/v2/watch')).status).toBe(422);
});
