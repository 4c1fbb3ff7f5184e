import http from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { httpTransport } from '../../../../src/cluster/listener/session/http-transport.ts';
import type { HubRequest } from '../../../../src/cluster/listener/session/hub-transport.ts';
import { close, listen, portOf } from '../../../faults/proxies/client-port.ts';
import { startHubProxy } from '../../../faults/proxies/hub-proxy.ts';
import type { HubProxy } from '../../../faults/proxies/hub-traffic.ts';

const PATIENCE = { timeout: 20_000, interval: 10 };
let proxy: HubProxy;
let url: string;
/** What the hub was asked. */
let asked: { method?: string; url?: string; key: unknown; body: string }[];
/** Long polls that the hub has not answered. */
let polls: Set<http.ServerResponse>;
let call: (path: string, more?: Partial<HubRequest>) => Promise<number>;

beforeEach(async () => {
  asked = [];
  polls = new Set();
  const hub = http.createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    asked.push({ method: request.method, url: request.url, key: request.headers['x-api-key'], body });
    if (request.url?.startsWith('/base/poll')) {
      polls.add(response);
      response.once('close', () => polls.delete(response));
    } else if (request.url === '/base/stream') {
      response.write('first');
      polls.add(response);
    } else response.writeHead(201, { 'retry-after': '3' }).end('{"made":true}');
  });
  await listen(hub);
  proxy = await startHubProxy();
  url = await proxy.urlFor('listener', `http://127.0.0.1:${portOf(hub)}/base`);
  const options = { hubUrl: url, apiKey: 'key', caFile: null };
  const { transport, close: closeTransport } = httpTransport(options);
  call = async (path, more = {}) => {
    const request = { method: 'GET', path, signal: AbortSignal.timeout(20_000), ...more } as const;
    return (await transport(request)).status;
  };
  onTestFinished(async () => {
    closeTransport();
    await proxy.stop();
    expect([proxy.connections(), proxy.upstreamRequests()]).toEqual([0, 0]);
    await close(hub);
  });
});

const report = (body: object = { a: 1 }) => call('/report', { method: 'POST', body });
const outcomes = () => proxy.exchanges('listener').map((each) => [each.status, each.upstreamStatus]);

test('what no rule takes passes below the base of the hub, key and body with it', async () => {
  expect(await report()).toBe(201);
  expect(asked).toEqual([{ method: 'POST', url: '/base/report', key: 'key', body: '{"a":1}' }]);
  expect(proxy.exchanges()).toMatchObject([
    { seq: 1, client: 'listener', method: 'POST', path: '/report', body: { a: 1 }, status: 201 },
  ]);
});

test('lose and refuse: no answer; the hub has heard of the first only', async () => {
  const match = () => true;
  proxy.add({ match, fault: { kind: 'lose' }, times: 1 });
  await expect(report({ lost: 1 })).rejects.toThrow();
  proxy.add({ match, fault: { kind: 'refuse' }, times: 1 });
  await expect(report({ refused: 1 })).rejects.toThrow();
  proxy.add({ match, fault: { kind: 'answer', status: 503 }, times: 1 });
  expect(await report()).toBe(503);
  expect(asked.map(({ body }) => body)).toEqual(['{"lost":1}']);
  expect(outcomes()).toEqual([
    [0, 201],
    [0, 0],
    [503, 0],
  ]);
});

test('a long poll that its client gives up is given up at the hub', async () => {
  const stop = new AbortController();
  const polling = call('/poll', { signal: stop.signal });
  polling.catch(() => undefined);
  await vi.waitFor(() => expect(polls.size).toBe(1), PATIENCE);
  stop.abort();
  await vi.waitFor(() => expect(polls.size).toBe(0), PATIENCE);
  await expect(polling).rejects.toThrow();
  await vi.waitFor(() => expect(outcomes()).toEqual([[0, 0]]), PATIENCE);
});

test('an answer that comes bit by bit goes on bit by bit, and breaks off where the hub does', async () => {
  const { body } = await fetch(`${url}/stream`);
  const reader = body?.pipeThrough(new TextDecoderStream()).getReader();
  expect(await reader?.read()).toMatchObject({ value: 'first' });
  const [response] = polls;
  response?.write('second');
  expect(await reader?.read()).toMatchObject({ value: 'second' });
  response?.destroy();
  await expect(reader?.read()).rejects.toThrow();
});

test('a blackhole swallows, also connections that come later; a cut resets; open ends both', async () => {
  await report();
  proxy.blackhole('listener');
  const silent = report();
  silent.catch(() => undefined);
  expect(await Promise.race([silent, delay(50, 'silent')])).toBe('silent');
  proxy.open();
  await expect(silent).rejects.toThrow();
  proxy.cut();
  await expect(report()).rejects.toThrow();
  proxy.open();
  expect(await report()).toBe(201);
});

test('a rule that throws is told by stop', async () => {
  const run = () => Promise.reject(new Error('of the plan'));
  proxy.add({ match: () => true, fault: { kind: 'before', run } });
  await expect(report()).rejects.toThrow();
  await expect(proxy.stop()).rejects.toThrow('of the plan');
  proxy = await startHubProxy();
});

test('what is told of an answer: how the hub gave it, and whether the client has it', async () => {
  const told: unknown[] = [];
  const match = () => true;
  proxy.add({
    match,
    fault: { kind: 'lose', run: (_, status) => void told.push(['lost', status]) },
    times: 1,
  });
  await expect(report()).rejects.toThrow();
  const { promise: passed, resolve: passedOn } = Promise.withResolvers<boolean>();
  const run = async (_: unknown, status: number) => void told.push(['answered', status]);
  proxy.add({ match, fault: { kind: 'after', run, passedOn }, times: 1 });
  expect(await report()).toBe(201);
  expect([told, await passed]).toEqual([
    [
      ['lost', 201],
      ['answered', 201],
    ],
    true,
  ]);
});

test('an answer whose client has gone meanwhile was not passed on', async () => {
  const { promise: passed, resolve: passedOn } = Promise.withResolvers<boolean>();
  const gone = new AbortController();
  const run = async () => {
    gone.abort();
    await vi.waitFor(() => expect(proxy.connections()).toBe(0), PATIENCE);
  };
  proxy.add({ match: () => true, fault: { kind: 'after', run, passedOn }, times: 1 });
  await expect(call('/report', { method: 'POST', body: {}, signal: gone.signal })).rejects.toThrow();
  expect(await passed).toBe(false);
  await vi.waitFor(() => expect(proxy.upstreamRequests()).toBe(0), PATIENCE);
});
