/** Streams of events, over real connections to two replicas of the API with one database. */
import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { uuidv7 } from '../../../../src/domain/core/id.ts';
import { closeGracefully } from '../../../../src/hub/api/core/graceful-shutdown.ts';
import { EVENTS } from '../../../../src/hub/api/events/event-feed.ts';
import { createWorkHints } from '../../../../src/hub/api/listeners/work-hints.ts';
import { appendEvents } from '../../../../src/hub/store/core/events.ts';
import { waitFor } from '../../../cluster/wait.ts';
import { ALL_SCOPES, type ApiFixture, type Client, create, startApi } from '../../harness/api.ts';
import { type LineReader, readLines } from '../../harness/line-reader.ts';

let first: ApiFixture;
let second: ApiFixture;
let address: Record<'first' | 'second', string>;
beforeAll(async () => {
  first = await startApi();
  // No notification reaches the second replica, so it polls.
  second = await startApi({ store: first.store });
  const listen = (api: ApiFixture) => api.app.listen({ host: '127.0.0.1', port: 0 });
  address = { first: await listen(first), second: await listen(second) };
});
afterAll(async () => {
  await second?.stop();
  await first?.stop();
});

const until = (what: string, probe: () => boolean) =>
  waitFor(what, async () => probe() || undefined, { timeoutMs: 30_000, intervalMs: 20 });

async function follow(client: Client, query = '', at = address.second, path = '/v2/events') {
  const stream = await readLines(at, `${path}?follow=true${query}`, client.key);
  onTestFinished(stream.leave);
  return stream;
}
const messagesOf = ({ lines }: LineReader) => lines.flatMap(({ message }) => message ?? []);
const reasonsOf = ({ lines }: LineReader) => lines.flatMap(({ reason }) => reason ?? []);
const lastCursor = ({ lines }: LineReader) =>
  `&cursor=${encodeURIComponent(String(lines.at(-1)?.['cursor']))}`;
const heard = (stream: LineReader, ...messages: string[]) =>
  until(messages.join(), () => JSON.stringify(messagesOf(stream)) === JSON.stringify(messages));

/** Stores an event for each message, each in its own transaction. */
async function store(tenantId: string, ...messages: string[]): Promise<void> {
  for (const message of messages)
    await first.store.database
      .forTenant(tenantId)
      .transaction((transaction) =>
        appendEvents(transaction, [{ tenantId, actor: { kind: 'system' }, reason: 'Patched', message }]),
      );
}

/** A transaction that has stored an event with the message `older` and stays open. */
async function openTransaction(tenantId: string) {
  const slow = new pg.Client({ connectionString: first.store.url });
  await slow.connect();
  onTestFinished(() => slow.end());
  await slow.query(`BEGIN; SET LOCAL berth.tenant_id = '*'`);
  await slow.query(
    `INSERT INTO events (id, tenant_id, actor_kind, reason, message) VALUES ($1, $2, 'system', 'Patched', 'older')`,
    [uuidv7(), tenantId],
  );
  return slow;
}

test('sends an event to a follower of one replica when the other replica stores it', async () => {
  const client = await first.tenant();
  const before = await create(client);
  const stream = await follow(client);
  expect(stream.status).toBe(200);
  await until('the stored event', () => stream.lines.length === 1);
  const after = await create(client);
  await until('the new event', () => stream.lines.length === 2);
  expect(stream.lines).toMatchObject(
    [before, after].map(({ id }) => ({ reason: 'Created', deployment_id: id, tenant_id: client.tenantId })),
  );
  const [line] = stream.lines;
  const { body } = await client.call<{ resources: object[] }>('GET', '/v2/events');
  const { cursor, ...event } = line as Record<string, unknown>;
  expect(cursor).toMatch(/^\d+_/);
  expect(body.resources.at(-1)).toEqual(event);
});

test('begins the response at once when no event is stored', async () => {
  const stream = await follow(await first.tenant());
  await until('an empty line', () => stream.keepalives > 0);
  expect(stream.lines).toEqual([]);
});

test('loses no event when a transaction with an older event commits later', async () => {
  const { database } = first.store;
  let polls = 0;
  const forPlatform = (group: string) => {
    if (group === 'events') polls += 1;
    return database.forPlatform(group);
  };
  const api = await startApi({ store: first.store, deps: { database: { ...database, forPlatform } } });
  onTestFinished(() => api.stop());
  const client = await first.tenant();
  const stream = await follow(client, '', await api.app.listen({ host: '127.0.0.1', port: 0 }));
  const slow = await openTransaction(client.tenantId);
  await store(client.tenantId, 'newer');
  const { body } = await client.call<{ resources: { message: string }[] }>('GET', '/v2/events');
  expect(body.resources.map(({ message }) => message)).toEqual(['newer']);
  const before = polls;
  await until('two more polls', () => polls >= before + 2);
  expect(stream.lines).toEqual([]);
  await slow.query('COMMIT');
  await heard(stream, 'older', 'newer');
});

test('sends events within the poll interval when notifications are lost, and earlier with them', async () => {
  const hints = createWorkHints();
  const api = await startApi({ store: first.store, deps: { eventHints: hints } });
  onTestFinished(() => api.stop());
  const url = await api.app.listen({ host: '127.0.0.1', port: 0 });
  const client = await first.tenant();
  const stream = await follow(client, '', url);
  await store(client.tenantId, 'without notification');
  await heard(stream, 'without notification');
  await store(client.tenantId, 'with notification');
  hints.notify([EVENTS]);
  await heard(stream, 'without notification', 'with notification');
});

test('continues with the last cursor without loss or duplicate when a replica is restarted', async () => {
  const client = await first.tenant();
  let api = await startApi({ store: first.store });
  const start = () => api.app.listen({ host: '127.0.0.1', port: 0 });
  await store(client.tenantId, '1', '2');
  const before = await follow(client, '', await start());
  await heard(before, '1', '2');
  await store(client.tenantId, '3');
  await heard(before, '1', '2', '3');
  await closeGracefully(api.app);
  await before.ended;
  expect(before.lines.at(-1)).toMatchObject({
    end: expect.stringContaining('shuts down'),
    reason: 'continue',
  });
  await store(client.tenantId, '4', '5');
  api = await startApi({ store: first.store });
  onTestFinished(() => api.stop());
  const after = await follow(client, lastCursor(before), await start());
  await store(client.tenantId, '6');
  await heard(after, '4', '5', '6');
  // The cursor of any line works, at any replica.
  const [one] = before.lines;
  const again = await follow(client, `&cursor=${one?.['cursor']}`, address.first);
  await heard(again, '2', '3', '4', '5', '6');
});

test('ends a stream when its key is revoked, and sends nothing afterwards', async () => {
  const client = await first.tenant();
  const other = await first.client(client.tenantId, ['deployments:read']);
  const stream = await follow(other);
  await store(client.tenantId, 'before');
  await heard(stream, 'before');
  await first.store.sql(
    `UPDATE api_keys SET revoked_at = now() WHERE tenant_id = $1 AND scopes = ARRAY['deployments:read']`,
    [client.tenantId],
  );
  await stream.ended;
  expect(stream.lines.at(-1)).toMatchObject({ end: 'The API key is no longer valid.', reason: 'denied' });
  await store(client.tenantId, 'after');
  expect(messagesOf(stream)).toEqual(['before']);
});

test('reads no further than a slow client, and other clients do not wait', { timeout: 120_000 }, async () => {
  const client = await first.tenant();
  const api = await startApi({ store: first.store });
  onTestFinished(() => api.stop());
  const sockets: { bytesWritten: number; writableLength: number }[] = [];
  api.app.server.on('connection', (socket) => sockets.push(socket));
  const url = new URL(await api.app.listen({ host: '127.0.0.1', port: 0 }));
  const count = 3_000;
  await first.store.database.platform.transaction((transaction) =>
    transaction.query(
      `INSERT INTO events (id, tenant_id, actor_kind, reason, message)
       SELECT gen_random_uuid(), $1, 'system', 'Patched', n || repeat(' ', 20000) FROM generate_series(1, $2::int) n`,
      [client.tenantId, count],
    ),
  );
  const slow = connect({ host: url.hostname, port: Number(url.port) });
  onTestFinished(() => void slow.destroy());
  await once(slow, 'connect');
  slow.pause();
  slow.write(
    `GET /v2/events?follow=true HTTP/1.1\r\nHost: berth\r\nX-Api-Key: ${client.key}\r\nConnection: close\r\n\r\n`,
  );
  let written = -1;
  const isStuck = async () => {
    const now = sockets[0]?.bytesWritten ?? 0;
    const stuck = now > 0 && now === written;
    written = now;
    return stuck || undefined;
  };
  await waitFor('a full connection', isStuck, { timeoutMs: 60_000, intervalMs: 1_000 });
  // 60 MB are stored. The kernel buffers some of them, and the process at most a few batches of 4 MB.
  expect(written).toBeLessThan(30_000_000);
  const fast = await follow(client, '&limit=1', url.href);
  await store(client.tenantId, 'for all');
  await until('the event of another client', () => messagesOf(fast).includes('for all'));
  let text = '';
  slow.setEncoding('utf8').on('data', (chunk) => {
    text += chunk;
  });
  slow.resume();
  await until('all events', () => text.includes('"for all"'));
  const numbers = [...text.matchAll(/"message":"(\d+) /g)].map(([, number]) => Number(number));
  expect(numbers).toEqual(Array.from({ length: count }, (_, index) => index + 1));
});

test('shows a tenant its own events only, and the platform all of them', async () => {
  const [ours, theirs] = [await first.tenant(), await first.tenant()];
  const admin = await first.client(null, ALL_SCOPES);
  const [own, all] = [await follow(ours), await follow(admin, '&limit=1')];
  await store(theirs.tenantId, 'theirs');
  await store(ours.tenantId, 'ours');
  await heard(own, 'ours');
  await until('both events', () => ['theirs', 'ours'].every((message) => messagesOf(all).includes(message)));
  const foreign = await ours.call('GET', `/v2/events?follow=true${lastCursor(await follow(theirs))}`);
  expect(foreign.status).toBe(422);
  await store(theirs.tenantId, 'another');
  const stream = await follow(theirs);
  await heard(stream, 'theirs', 'another');
  const stolen = await ours.call('GET', `/v2/events?follow=true${lastCursor(stream)}`);
  expect(stolen.status).toBe(422);
  expect(JSON.stringify(stolen.body)).toContain('names an event that is not stored');
});

test('follows one deployment by path or by filter, with reasons and the newest stored events', async () => {
  const client = await first.tenant();
  const [wanted] = [await create(client), await create(client)];
  const streams = [
    await follow(client, '', address.second, `/v2/deployments/${wanted.id}/events`),
    await follow(client, `&deployment_id=${wanted.id}`),
    await follow(client, '&reason=Patched,DeletionRequested&limit=5'),
  ];
  const newest = await follow(client, '&limit=1');
  await client.call('PATCH', `/v2/deployments/${wanted.id}`, {
    source_revision_config: { image_uri: 'registry.example.com/shop/web:2.0.0' },
  });
  const [byPath, byFilter, byReason] = streams as [LineReader, LineReader, LineReader];
  for (const stream of [byPath, byFilter]) await until('both events', () => stream.lines.length === 2);
  expect(reasonsOf(byPath)).toEqual(['Created', 'Patched']);
  expect(reasonsOf(byFilter)).toEqual(['Created', 'Patched']);
  await until('the change', () => byReason.lines.length === 1);
  expect(reasonsOf(byReason)).toEqual(['Patched']);
  await until('the newest event and the change', () => newest.lines.length === 2);
  expect(reasonsOf(newest)).toEqual(['Created', 'Patched']);
  const unknown = await client.call('GET', `/v2/deployments/${uuidv7()}/events?follow=true`);
  expect(unknown.status).toBe(404);
});

test('ends a stream with until when all events before that time were sent', async () => {
  const client = await first.tenant();
  await store(client.tenantId, '1', '2');
  const time = encodeURIComponent(new Date(Date.now() + 1_000).toISOString());
  const stream = await follow(client, `&until=${time}`);
  await stream.ended;
  expect(messagesOf(stream)).toEqual(['1', '2']);
  expect(stream.lines.at(-1)).toMatchObject({
    end: 'All events before the time `until` were sent.',
    reason: 'complete',
  });
});

test('exports consecutive ranges without loss or duplicate when each begins at the until of the one before', async () => {
  const client = await first.tenant();
  const hour = (number: number) => new Date(Date.now() - (4 - number) * 3_600_000).toISOString();
  // Stored in another order than their times.
  for (const [message, at] of [
    ['third', hour(3)],
    ['second', hour(2)],
    ['first', hour(1)],
  ] as const)
    await first.store.sql(
      `INSERT INTO events (id, tenant_id, actor_kind, reason, message, at)
       VALUES ($1, $2, 'system', 'Patched', $3, $4)`,
      [uuidv7(), client.tenantId, message, at],
    );
  const seen: string[][] = [];
  for (const [since, end] of [
    [0.5, 1.5],
    [1.5, 2.5],
    [2.5, 3.5],
  ] as const) {
    const query = `&since=${hour(since)}&until=${hour(end)}`;
    const stream = await follow(client, query);
    await stream.ended;
    seen.push(messagesOf(stream).map(String));
    expect(stream.lines.at(-1)).toMatchObject({ reason: 'complete' });
    expect(stream.lines.at(-1)).not.toHaveProperty('cursor');
  }
  expect(seen).toEqual([['first'], ['second'], ['third']]);
});

test('ends a stream with until only after an open transaction with an event before that time', async () => {
  const client = await first.tenant();
  const slow = await openTransaction(client.tenantId);
  await store(client.tenantId, 'newer');
  const time = encodeURIComponent(new Date().toISOString());
  const stream = await follow(client, `&until=${time}`);
  // Longer than the time for late events and the interval of the checks.
  await sleep(17_000);
  expect(stream.lines).toEqual([]);
  await slow.query('COMMIT');
  await stream.ended;
  expect(messagesOf(stream)).toEqual(['older', 'newer']);
  expect(stream.lines.at(-1)).toMatchObject({
    end: 'All events before the time `until` were sent.',
    reason: 'complete',
  });
});

test('limits the streams of a tenant, and a closed stream makes room', async () => {
  const [client, other] = [await first.tenant(), await first.tenant()];
  const streams = await Promise.all(Array.from({ length: 10 }, () => follow(client)));
  expect(streams.map(({ status }) => status)).toEqual(Array.from({ length: 10 }, () => 200));
  const refused = await second.app.inject({
    url: '/v2/events?follow=true',
    headers: { 'x-api-key': client.key },
  });
  expect(refused.statusCode).toBe(429);
  expect(refused.headers['retry-after']).toBe('10');
  expect(refused.json().detail).toContain('Too many streams of events');
  expect((await follow(other)).status).toBe(200);
  streams[0]?.leave();
  const isFree = async () => {
    const stream = await follow(client);
    return stream.status === 200 || undefined;
  };
  await waitFor('a free place', isFree, { timeoutMs: 20_000, intervalMs: 100 });
});

test('ends at once and frees its place when the method is HEAD', async () => {
  const client = await first.tenant();
  for (let count = 0; count < 11; count += 1) {
    const { status } = await fetch(new URL('/v2/events?follow=true', address.second), {
      method: 'HEAD',
      headers: { 'x-api-key': client.key },
    });
    expect(status).toBe(200);
  }
});
