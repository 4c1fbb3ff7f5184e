/** Logs of workloads: asked for at the API, read by the listener through the real API server, sent back line by line. */
import { type AddressInfo, connect } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { HubError } from '../../../../src/cluster/listener/session/hub-client.ts';
import { LABELS, MANAGED_BY } from '../../../../src/contract/resource/names.ts';
import { uuidv7 } from '../../../../src/domain/core/id.ts';
import { PLATFORM_LISTENER_ID } from '../../../../src/domain/deployment/source.ts';
import { hashApiKey, SCOPES } from '../../../../src/hub/store/tenancy/api-keys.ts';
import { waitFor } from '../../../cluster/wait.ts';
import { create, type Deployment } from '../../harness/api.ts';
import { kubectlAsAdmin, uniqueName } from '../../harness/environment.ts';
import type { LineReader } from '../../harness/line-reader.ts';
import { type LogWorld, startLogWorld } from '../../harness/log-world.ts';

const SECRET = 'canary-of-the-workload-log';
let world: LogWorld;
let running: { stop(): Promise<void> };
beforeAll(async () => {
  world = await startLogWorld('logs');
  running = await world.startListener();
});
afterAll(() => world?.stop());

interface Logs {
  resources: {
    at: string;
    component: string;
    pod: string;
    container: string;
    revision_id?: string;
    text: string;
  }[];
  end: string;
  detail?: unknown;
}

const pathOf = (of: Deployment, query = '') => `/v2/deployments/${of.id}/logs${query}`;
const read = (of: Deployment, query = '') => world.owner.call<Logs>('GET', pathOf(of, query));
const until = <T>(what: string, probe: () => Promise<T | undefined>) =>
  waitFor(what, probe, { timeoutMs: 40_000, intervalMs: 50 });
const numbered = (count: number, from = 0) =>
  Array.from({ length: count }, (_, index) => `line ${from + index}`);
const textsOf = ({ lines }: LineReader) => lines.map(({ text }) => text);
const heard = (stream: LineReader, text: string) =>
  until(`"${text}"`, async () => (textsOf(stream).includes(text) ? true : undefined));
const waiting = async () => {
  const [row] = await world.api.store.sql<{ n: number }>(
    'SELECT (SELECT count(*) FROM log_requests)::int + (SELECT count(*) FROM log_chunks)::int AS n',
  );
  return row?.n ?? 0;
};
const nobodyReads = () => until('no reader', async () => ((await waiting()) === 0 ? true : undefined));

async function podOf(of: Deployment, component: string, more: { init?: string[]; sidecars?: string[] } = {}) {
  const { init = [], sidecars = [] } = more;
  const pod = {
    namespace: world.namespace,
    name: uniqueName(component),
    labels: {
      [LABELS.managedBy]: MANAGED_BY,
      [LABELS.component]: component,
      [LABELS.deploymentId]: of.id,
      ...(component === 'database' ? {} : { [LABELS.revisionId]: of.latest_revision_id ?? '' }),
    },
    initContainers: init,
    containers: ['app', ...sidecars],
  };
  await world.node.makePod(pod);
  return {
    name: pod.name,
    print: (container: string, ...lines: string[]) =>
      world.node.print(pod.namespace, pod.name, container, lines.map((line) => `${line}\n`).join('')),
    crash: (container: string) => world.node.crash(pod.namespace, pod.name, container),
    end: (container: string) => world.node.end(pod.namespace, pod.name, container),
    set: (states: Parameters<LogWorld['node']['set']>[1]) => world.node.set(pod, states),
  };
}

test('logs contain every container, oldest first, and are filtered by component, revision, time and number', async () => {
  const of = await world.deploy();
  const api = await podOf(of, 'api', { init: ['prepare'], sidecars: ['proxy'] });
  api.print('prepare', 'prepared');
  api.print('app', ...numbered(30));
  api.print('proxy', 'proxied ä🚢');
  await api.set({ prepare: 'ended', app: 'runs', proxy: 'runs' });
  const database = await podOf(of, 'database');
  database.print('app', 'ready to accept connections');
  await database.set({ app: 'runs' });
  const { status, body } = await read(of);
  expect(status).toBe(200);
  expect(body.resources.map(({ container, text }) => `${container}: ${text}`).sort()).toEqual(
    [
      'prepare: prepared',
      ...numbered(30).map((text) => `app: ${text}`),
      'proxy: proxied ä🚢',
      'app: ready to accept connections',
    ].sort(),
  );
  const times = body.resources.map(({ at }) => at);
  expect(times).toEqual([...times].sort());
  expect(body.end).toBe('All available lines were returned.');
  expect(body.resources.find(({ container }) => container === 'prepare')).toMatchObject({
    component: 'api',
    pod: api.name,
    container: 'prepare',
    revision_id: of.latest_revision_id,
  });
  const of_database = (await read(of, '?component=database')).body.resources;
  expect(of_database).toEqual([expect.objectContaining({ component: 'database', pod: database.name })]);
  expect(of_database[0]).not.toHaveProperty('revision_id');
  expect((await read(of, `?revision_id=${of.latest_revision_id}`)).body.resources).toHaveLength(32);
  expect(
    (await read(of, `?revision_id=${of.latest_revision_id?.toUpperCase()}`)).body.resources,
  ).toHaveLength(32);
  expect((await read(of, `?revision_id=${of.id}`)).body).toMatchObject({
    resources: [],
    end: expect.stringContaining('No requested pod'),
  });
  const newest = (await read(of, '?component=api&limit=5')).body.resources;
  expect(newest.filter(({ container }) => container === 'app').map(({ text }) => text)).toEqual(
    numbered(5, 25),
  );
  const later = new Date(Date.now() + 3_600_000).toISOString();
  expect((await read(of, `?since=${later}`)).body.resources).toEqual([]);
  await nobodyReads();
});

test('logs of a deployment without pods are empty, and the response gives the reason', async () => {
  const { status, body } = await read(await world.deploy());
  expect(status).toBe(200);
  expect(body).toEqual({ resources: [], end: expect.stringContaining('No requested pod') });
});

test('followed logs return new lines of pods that come and go, and leave nothing when the reader disconnects', async () => {
  const of = await world.deploy();
  const first = await podOf(of, 'api');
  first.print('app', 'one');
  await first.set({ app: 'runs' });
  const stream = await world.follow(world.owner, pathOf(of, '?follow=true'));
  await heard(stream, 'one');
  first.print('app', 'two');
  await heard(stream, 'two');
  const second = await podOf(of, 'queue');
  second.print('app', 'of another pod');
  await second.set({ app: 'runs' });
  await heard(stream, 'of another pod');
  first.print('app', 'last words');
  first.end('app');
  await kubectlAsAdmin(['delete', 'pod', first.name, '-n', world.namespace, '--force', '--grace-period=0']);
  await heard(stream, 'last words');
  second.print('app', 'still here');
  await heard(stream, 'still here');
  expect(textsOf(stream).sort()).toEqual(['one', 'two', 'of another pod', 'last words', 'still here'].sort());
  stream.leave();
  await nobodyReads();
});

test('logs mask values of secrets for a key without secrets:read', async () => {
  const of = await world.deploy({ secrets: [{ name: 'TOKEN', value: SECRET }] });
  const pod = await podOf(of, 'api');
  pod.print('app', `token ${SECRET}, postgres://app:hunter22@db/app`);
  await pod.set({ app: 'runs' });
  const blind = await world.api.client(
    world.owner.tenantId,
    SCOPES.filter((scope) => scope !== 'secrets:read' && scope !== 'admin'),
  );
  const { body } = await blind.call<Logs>('GET', pathOf(of));
  expect(body.resources.map(({ text }) => text)).toEqual(['token ***, postgres://app:***@db/app']);
  expect((await read(of)).body.resources[0]?.text).toBe(`token ${SECRET}, postgres://app:hunter22@db/app`);
  const asked = (await read(of, '?mask_secrets=true')).body.resources;
  expect(asked.map(({ text }) => text)).toEqual(['token ***, postgres://app:***@db/app']);
  const followed = await world.follow(blind, pathOf(of, '?follow=true'));
  await heard(followed, 'token ***, postgres://app:***@db/app');
  followed.leave();
  expect(JSON.stringify(world.api.store.logger.lines)).not.toContain(SECRET);
  await nobodyReads();
});

test('logs return 404 to another tenant, and 422 for an invalid parameter', async () => {
  const of = await world.deploy();
  const stranger = await world.api.tenant();
  expect((await stranger.call('GET', pathOf(of))).status).toBe(404);
  for (const query of [
    'limit=0',
    'limit=10001',
    'since=yesterday',
    'component=x',
    'revision_id=1',
    'follow=yes',
  ])
    expect((await read(of, `?${query}`)).status, query).toBe(422);
});

test('the number of readers of a tenant is limited, and a disconnected reader does not count', async () => {
  const of = await world.deploy();
  const pod = await podOf(of, 'api');
  pod.print('app', 'here');
  await pod.set({ app: 'runs' });
  const streams: LineReader[] = [];
  for (let count = 0; count < 5; count += 1)
    streams.push(await world.follow(world.owner, pathOf(of, '?follow=true')));
  await Promise.all(streams.map((stream) => heard(stream, 'here')));
  const refused = await read(of);
  expect(refused.status).toBe(429);
  expect(refused.headers['retry-after']).toBeDefined();
  const other = await world.api.tenant();
  expect((await other.call('GET', pathOf(of))).status).toBe(404);
  for (const stream of streams) stream.leave();
  await nobodyReads();
  expect((await read(of)).status).toBe(200);
});

test('a log that is read more slowly than it is written loses no line', async () => {
  const of = await world.deploy();
  const pod = await podOf(of, 'api');
  const long = 'x'.repeat(1000);
  const lines = numbered(4000).map((line) => `${line} ${long}`);
  pod.print('app', ...lines);
  await pod.set({ app: 'runs' });
  const stream = await world.follow(world.owner, pathOf(of, '?follow=true&limit=10000'));
  await until('all lines', async () => (stream.lines.length >= lines.length ? true : undefined));
  expect(textsOf(stream)).toEqual(lines);
  stream.leave();
  await nobodyReads();
});

test('logs of several containers arrive completely when they exceed the limit of data in transit', async () => {
  const of = await world.deploy();
  const text = 'x'.repeat(500);
  const pods = await Promise.all([0, 1, 2].map(() => podOf(of, 'api')));
  for (const pod of pods) {
    pod.print('app', ...numbered(400).map((line) => `${line} ${text}`));
    await pod.set({ app: 'runs' });
  }
  const { resources } = (await read(of)).body;
  for (const { name } of pods)
    expect(resources.filter((line) => line.pod === name).map((line) => line.text)).toEqual(
      numbered(400).map((line) => `${line} ${text}`),
    );
});

test('a secret that changes while logs are followed is masked, and so is its previous value', async () => {
  const of = await world.deploy({ secrets: [{ name: 'TOKEN', value: 'former-value' }] });
  const pod = await podOf(of, 'api');
  pod.print('app', 'begun with former-value');
  await pod.set({ app: 'runs' });
  const blind = await world.api.client(
    world.owner.tenantId,
    SCOPES.filter((scope) => scope !== 'secrets:read' && scope !== 'admin'),
  );
  const stream = await world.follow(blind, pathOf(of, '?follow=true'));
  await heard(stream, 'begun with ***');
  const secrets = [{ name: 'TOKEN', value: 'later-value' }];
  expect((await world.owner.call('PATCH', `/v2/deployments/${of.id}`, { secrets })).status).toBe(200);
  pod.print('app', 'later-value after former-value');
  await heard(stream, '*** after ***');
  stream.leave();
  await nobodyReads();
});

test('logs that are followed are withheld when the deployment gets references to Secrets, except with secrets:read', async () => {
  const of = await world.deploy();
  const pod = await podOf(of, 'api');
  pod.print('app', 'begun');
  await pod.set({ app: 'runs' });
  const blind = await world.api.client(
    world.owner.tenantId,
    SCOPES.filter((scope) => scope !== 'secrets:read' && scope !== 'admin'),
  );
  const streams = [
    await world.follow(blind, pathOf(of, '?follow=true')),
    await world.follow(world.owner, pathOf(of, '?follow=true')),
  ] as const;
  for (const stream of streams) await heard(stream, 'begun');
  const secret_references = [{ name: 'KEY', secret_name: 'payments', secret_key: 'k' }];
  expect((await world.owner.call('PATCH', `/v2/deployments/${of.id}`, { secret_references })).status).toBe(
    200,
  );
  pod.print('app', 'printed-by-the-cluster');
  await heard(streams[1], 'printed-by-the-cluster');
  await until('a withheld line', async () =>
    textsOf(streams[0]).some((text) => String(text).startsWith('[withheld: ')) ? true : undefined,
  );
  expect(textsOf(streams[0])).not.toContain('printed-by-the-cluster');
  expect((await blind.call('GET', pathOf(of))).status).toBe(403);
  const masked = await read(of, '?mask_secrets=true');
  expect([masked.status, masked.body.detail]).toEqual([403, expect.stringContaining('mask_secrets=false')]);
  for (const stream of streams) stream.leave();
  await nobodyReads();
});

test('a reader that pauses stays registered and misses no line', async () => {
  const of = await world.deploy();
  const pod = await podOf(of, 'api');
  const text = 'x'.repeat(2000);
  pod.print('app', ...numbered(3400).map((line) => `${line} ${text}`));
  await pod.set({ app: 'runs' });
  const { port } = world.api.app.server.address() as AddressInfo;
  const socket = connect({ port, host: '127.0.0.1' });
  let told = '';
  socket.on('data', (data) => {
    told += data;
  });
  const path = pathOf(of, '?follow=true&limit=10000');
  socket.write(`GET ${path} HTTP/1.1\r\nhost: x\r\nx-api-key: ${world.owner.key}\r\n\r\n`);
  await until('the first line', async () => (told.includes('line 0 ') ? true : undefined));
  socket.pause();
  // So much waits that the answer itself is held.
  await until('a full way', async () => {
    const [row] = await world.api.store.sql<{ bytes: number }>(
      'SELECT coalesce(sum(octet_length(body)), 0)::int AS bytes FROM log_chunks',
    );
    return (row?.bytes ?? 0) > 1024 * 1024 ? true : undefined;
  });
  await world.api.store.sql("UPDATE log_requests SET expires_at = now() + interval '9 seconds'");
  await until('it is renewed', async () => {
    const rows = await world.api.store.sql(
      "SELECT 1 FROM log_requests WHERE expires_at > now() + interval '11 seconds'",
    );
    return rows.length === 1 ? true : undefined;
  });
  socket.resume();
  await until('the last line', async () => (told.includes('line 3399 ') ? true : undefined));
  expect(told.match(/"text":"line \d+ /g)).toEqual(numbered(3400).map((line) => `"text":"${line} `));
  socket.destroy();
  await nobodyReads();
});

test('a full listener ends a reader of the tenant with the most readers for a tenant with fewer', async () => {
  const of = await world.deploy();
  const pod = await podOf(of, 'api');
  pod.print('app', 'here');
  await pod.set({ app: 'runs' });
  for (const count of [4, 4, 4, 3]) {
    const { tenantId } = await world.api.tenant();
    for (let made = 0; made < count; made += 1)
      await world.api.store.sql(
        `INSERT INTO log_requests (id, tenant_id, deployment_id, listener_id, query, taken, expires_at)
         VALUES ($1, $2, $3, $4, '{"limit": 1, "follow": true}', true, now() + interval '5 minutes')`,
        [uuidv7(), tenantId, of.id, PLATFORM_LISTENER_ID],
      );
  }
  const streams: LineReader[] = [];
  for (let count = 0; count < 5; count += 1)
    streams.push(await world.follow(world.owner, pathOf(of, '?follow=true')));
  await Promise.all(streams.map((stream) => heard(stream, 'here')));
  const other = await world.api.tenant();
  const theirs = await create(other, {
    source_config: { listener_config: { cluster_namespace: world.namespace } },
  });
  expect((await other.call('GET', pathOf(theirs))).status).toBe(200);
  const last = streams.at(-1);
  await last?.ended;
  expect(last?.lines.at(-1)).toEqual({
    end: expect.stringContaining('Send the request again'),
    reason: 'continue',
  });
  for (const stream of streams) stream.leave();
  await world.api.store.sql("DELETE FROM log_requests WHERE expires_at > now() + interval '1 minute'");
  await nobodyReads();
});

test('previous=true returns what a container printed before it crashed, and is rejected with follow', async () => {
  const of = await world.deploy();
  const pod = await podOf(of, 'api', { sidecars: ['proxy'] });
  pod.print('app', 'last words');
  pod.print('proxy', 'all along');
  pod.crash('app');
  pod.print('app', 'again');
  await pod.set({ app: 'runs again', proxy: 'runs' });
  expect((await read(of)).body.resources.map(({ text }) => text).sort()).toEqual(['again', 'all along']);
  expect((await read(of, '?previous=true')).body.resources.map(({ text }) => text)).toEqual(['last words']);
  const refused = await read(of, '?previous=true&follow=true');
  expect(refused.status).toBe(422);
  expect(refused.body.detail).toEqual([expect.objectContaining({ loc: ['query', 'previous'] })]);
  const client = world.berth('logs', of.name, '--previous');
  await client.ended;
  expect(client.lines).toEqual([`api ${pod.name} | last words`]);
});

test('berth logs prints the available lines and follows new ones', async () => {
  const of = await world.deploy();
  const pod = await podOf(of, 'api', { sidecars: ['proxy'] });
  pod.print('app', 'one', 'red \u001b[31mtext\u001b[0m\u001b[2J');
  pod.print('proxy', 'two');
  await pod.set({ app: 'runs', proxy: 'runs' });
  const once = world.berth('logs', of.name, '--component', 'api', '--since', '1h', '--revision', '1');
  await once.ended;
  expect(once.lines.sort()).toEqual(
    [
      `api ${pod.name} | one`,
      `api ${pod.name} | red \u001b[31mtext\u001b[0m [2J`,
      `api/proxy ${pod.name} | two`,
    ].sort(),
  );
  const following = world.berth('logs', of.name, '--follow', '-o', 'json');
  await until('three lines', async () => (following.lines.length === 3 ? true : undefined));
  pod.print('proxy', 'later');
  const last = await until('the fourth', async () => following.lines[3]);
  expect(JSON.parse(last)).toMatchObject({ container: 'proxy', text: 'later' });
  following.stop();
  await following.ended;
  await nobodyReads();
});

test('a followed log ends within 5 s when its key is revoked', async () => {
  const of = await world.deploy();
  const pod = await podOf(of, 'api');
  pod.print('app', 'here');
  await pod.set({ app: 'runs' });
  const reader = await world.api.client(world.owner.tenantId, SCOPES);
  const stream = await world.follow(reader, pathOf(of, '?follow=true'));
  await heard(stream, 'here');
  await world.api.store.sql('UPDATE api_keys SET revoked_at = now() WHERE hash = $1', [
    hashApiKey(reader.key),
  ]);
  const at = performance.now();
  await stream.ended;
  expect(performance.now() - at).toBeLessThan(5_000);
  expect(stream.lines.at(-1)).toEqual({ end: 'The API key is no longer valid.', reason: 'denied' });
  await nobodyReads();
});

/** Ends the listener, as if its lease had run out. */
async function stopListener(): Promise<void> {
  await running.stop();
  await world.api.store.sql('UPDATE listeners SET lease_expires_at = now() WHERE id = $1', [
    PLATFORM_LISTENER_ID,
  ]);
}

test('a newer hub keeps the reader until the listener states its features, which an older hub rejects', async () => {
  const of = await world.deploy();
  const pod = await podOf(of, 'api');
  pod.print('app', 'last words');
  pod.crash('app');
  await pod.set({ app: 'runs again' });
  await stopListener();
  let passedOver = 0;
  running = await world.startListener((hub) => ({
    ...hub,
    async logRequests(query, options) {
      // As the balancer would have it: each that tells meets an old hub, until the reader was passed over by a newer one.
      if (query.knows !== undefined && passedOver === 0) throw new HubError('refused', 'unknown', 422);
      const requests = await hub.logRequests(query, options);
      if (query.knows === undefined && requests.log_requests.length === 0) passedOver += await waiting();
      return requests;
    },
  }));
  const { status, body } = await read(of, '?previous=true');
  expect(body.resources.map(({ text }) => text)).toEqual(['last words']);
  expect([status, passedOver]).toEqual([200, 1]);
  await nobodyReads();
});

test('streams end with a reason, and new requests return 503, when the listener is stopped', async () => {
  const of = await world.deploy();
  const pod = await podOf(of, 'api');
  pod.print('app', 'here');
  await pod.set({ app: 'runs' });
  const stream = await world.follow(world.owner, pathOf(of, '?follow=true'));
  await heard(stream, 'here');
  await stopListener();
  await stream.ended;
  expect(stream.lines.at(-1)).toEqual({ end: expect.stringContaining('was stopped'), reason: 'continue' });
  const refused = await read(of);
  expect(refused.status).toBe(503);
  expect(refused.body.detail).toMatch(/cannot be reached/);
  // One of a version before: it neither says what it knows nor reads previous runs.
  const ids: (string | undefined)[] = [];
  running = await world.startListener((hub) => ({
    ...hub,
    async logRequests({ knows: _, ...query }, options) {
      const requests = await hub.logRequests(query, options);
      ids.push(...requests.log_requests.map(({ http_request_id: id }) => id));
      return requests;
    },
  }));
  const answered = await read(of);
  expect(answered.body.resources.map(({ text }) => text)).toEqual(['here']);
  expect(ids).toEqual([answered.headers['x-request-id']]);
  const unknown = await read(of, '?previous=true');
  expect(unknown.status).toBe(409);
  expect(unknown.body.detail).toMatch(/older version/);
  await nobodyReads();
});
