/** Clients that disconnect while their request is still handled: they hold no resources, and get no work. */
import { type AddressInfo, connect } from 'node:net';
import { fastify } from 'fastify';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { buildLogRoutes } from '../../../../../src/hub/api/builds/build-log-routes.ts';
import { authenticate } from '../../../../../src/hub/api/core/auth.ts';
import type { ApiDeps } from '../../../../../src/hub/api/core/deps.ts';
import { createLimiter } from '../../../../../src/hub/api/core/rate-limit.ts';
import { validatorCompiler } from '../../../../../src/hub/api/core/validation.ts';
import { registerListenerProtocol } from '../../../../../src/hub/api/listeners/listener-protocol-routes.ts';
import { createWorkHints } from '../../../../../src/hub/api/listeners/work-hints.ts';
import { LogMasks } from '../../../../../src/hub/api/logs/log-masks.ts';
import { logRoutes } from '../../../../../src/hub/api/logs/log-routes.ts';
import { observeRequests } from '../../../../../src/hub/api/observe/observe-requests.ts';
import { createAccessWatch } from '../../../../../src/hub/api/tenancy/access-watch.ts';
import { hashApiKey } from '../../../../../src/hub/store/tenancy/api-keys.ts';
import { fakeDrizzle } from '../../fake-drizzle.ts';

const ID = '0198a000-0000-7000-8000-000000000001';
const KEY = 'key-of-this-test';
const HEADERS = { host: 'x', 'x-api-key': KEY, 'x-tenant-id': ID };
const WAIT = { timeout: 20_000 };
const LOGS = `/v2/deployments/${ID}/logs?follow=true`;
const BUILD_LOGS = `/v2/deployments/${ID}/revisions/${ID}/build-logs?follow=true`;

const stops: (() => Promise<void>)[] = [];
/** Such as the warning about too many listeners of one response. */
const warnings: string[] = [];
const warned = ({ name, message }: Error) => warnings.push(`${name}: ${message}`);
beforeEach(() => void process.on('warning', warned));
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
  process.off('warning', warned);
  expect(warnings.splice(0)).toEqual([]);
});

/** The routes on a database that responds when `open` is called, and finds every row. */
async function world() {
  const door = Promise.withResolvers<void>();
  const chunk = { isLast: true, door: Promise.resolve() };
  const counts = { asked: 0, written: 0, answered: 0, left: 0, fetched: 0, closed: 0, complete: false };
  const found = {
    ...{ id: ID, tenantId: ID, deploymentId: ID, listenerId: ID, epoch: 1, dueInMs: 0, lines: [] },
    maskNow: async () => String,
  };
  const read = async () => {
    counts.asked += 1;
    await door.promise;
    return { ...found, complete: counts.complete };
  };
  const platform = {
    read,
    transaction: async () => {
      counts.written += 1;
      return [];
    },
  };
  const drizzle = fakeDrizzle(async (text) => {
    if (text.startsWith('delete from "log_requests"')) counts.closed += 1;
    if (!text.startsWith('delete from "log_chunks"')) return [];
    counts.fetched += 1;
    await chunk.door;
    const end = chunk.isLast ? { end: 'done', reason: 'complete' } : {};
    return [[1, JSON.stringify({ lines: [], ...end }), chunk.isLast]];
  });
  const tenant = {
    read,
    transaction: (work: (transaction: object) => Promise<unknown>) => work({ drizzle }),
  };
  const logger = { debug() {}, info() {}, warn() {}, error() {} };
  const deps = {
    database: { platform, forPlatform: () => platform, forTenant: () => tenant },
    internalKey: {
      hash: hashApiKey(KEY),
      scopes: ['admin', 'deployments:read', 'secrets:read'],
      platform: true,
    },
    hints: createWorkHints(),
    logHints: createWorkHints(),
    leaseSeconds: 60,
    policy: {},
    logger,
  } as unknown as ApiDeps;
  const app = fastify();
  app.setValidatorCompiler(validatorCompiler);
  app.setSerializerCompiler(() => (data) => JSON.stringify(data));
  observeRequests(app, deps, () => undefined);
  app.addHook('onRequest', authenticate(deps, createLimiter(null)));
  app.addHook('onSend', async () => {
    counts.answered += 1;
  });
  const limiter = createLimiter(null);
  logRoutes(app, deps, { limiter, watch: createAccessWatch(deps), masks: new LogMasks(deps.secretBox) });
  buildLogRoutes(app, deps);
  await registerListenerProtocol(app, deps);
  app.server.on('connection', (socket) =>
    socket.once('close', () => {
      counts.left += 1;
    }),
  );
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  stops.push(() => {
    door.resolve();
    return app.close();
  });
  const { port } = app.server.address() as AddressInfo;
  /** Sends this number of requests on one connection. */
  const ask = (path: string, times = 1) => {
    const head = Object.entries(HEADERS).map(([name, value]) => `${name}: ${value}\r\n`);
    const socket = connect(port, '127.0.0.1');
    socket.on('error', () => undefined).resume();
    socket.write(`GET ${path} HTTP/1.1\r\n${head.join('')}\r\n`.repeat(times));
    return socket;
  };
  return {
    counts,
    chunk,
    ask,
    open: () => door.resolve(),
    get: (path: string) => fetch(new URL(path, url), { headers: HEADERS }),
    /** Sends requests on several connections, and disconnects before the database responds. */
    async leave(path: string, connections: number, times: number) {
      const before = { ...counts };
      const sockets = Array.from({ length: connections }, () => ask(path, times));
      await expect.poll(() => counts.asked - before.asked, WAIT).toBe(connections * times);
      for (const socket of sockets) socket.destroy();
      await expect.poll(() => counts.left - before.left, WAIT).toBe(connections);
      door.resolve();
      await expect.poll(() => counts.answered - before.answered, WAIT).toBe(connections * times);
    },
  };
}

test.each([
  ['a connection each', 30, 1],
  ['one connection', 1, 30],
])(
  'creates no log request and holds no place for readers that disconnect early on %s',
  async (_, connections, times) => {
    const the = await world();
    await the.leave(LOGS, connections, times);
    expect(the.counts).toMatchObject({ written: 0, fetched: 0 });
    const answer = await the.get(LOGS);
    expect([answer.status, (await answer.text()).trim()]).toEqual([
      200,
      '{"end":"done","reason":"complete"}',
    ]);
    expect(the.counts).toMatchObject({ written: 1, closed: 1 });
  },
);

test.each([
  ['a connection each', 30, 1],
  ['one connection', 1, 30],
])('holds no place for readers of build logs that disconnect early on %s', async (_, connections, times) => {
  const the = await world();
  await the.leave(BUILD_LOGS, connections, times);
  the.counts.complete = true;
  const answer = await the.get(BUILD_LOGS);
  expect(answer.status).toBe(200);
  expect(await answer.text()).toContain('{"end":"The log of the build is complete.","reason":"complete"}');
});

test.each([
  ['work', `/v2/listeners/${ID}/work?epoch=1&limit=1`],
  ['requests for logs', `/v2/listeners/${ID}/log-requests?epoch=1`],
])('hands nothing to a listener that disconnects early from its poll for %s', async (_, path) => {
  const the = await world();
  await the.leave(path, 3, 2);
  expect(the.counts.written).toBe(0);
  expect((await the.get(path)).status).toBe(200);
  expect(the.counts.written).toBe(1);
});

test('closes the log request of a reader that disconnects before the stream begins', async () => {
  const the = await world();
  const first = Promise.withResolvers<void>();
  the.chunk.isLast = false;
  the.chunk.door = first.promise;
  the.open();
  const socket = the.ask(LOGS);
  await expect.poll(() => the.counts.fetched, WAIT).toBe(1);
  socket.destroy();
  await expect.poll(() => the.counts.left, WAIT).toBe(1);
  first.resolve();
  await expect.poll(() => the.counts.closed, WAIT).toBe(1);
});
