/** Requests that take too long to arrive, over a real socket. The timeout is short, and each test waits for the end. */
import { connect } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { declaringDeps } from '../../../../scripts/openapi-document.ts';
import { buildApp } from '../../../../src/hub/api/core/app.ts';
import { hashApiKey } from '../../../../src/hub/store/tenancy/api-keys.ts';

const KEY = 'key-of-the-listener';
const ID = '0197a000-0000-7000-8000-000000000001';

let app: FastifyInstance;
let port: number;
beforeAll(async () => {
  app = buildApp({
    ...declaringDeps(),
    requestTimeoutMs: 200,
    internalKey: { hash: hashApiKey(KEY), scopes: ['listeners:run'], platform: true },
  });
  app.post('/public', { config: { access: 'public' } }, async () => ({}));
  app.get('/endless', { config: { access: 'public' } }, (_request, reply) => {
    reply.hijack();
    reply.raw.writeHead(200);
    const write = () => {
      while (reply.raw.write('x'.repeat(65_536)));
    };
    reply.raw.on('drain', write);
    write();
  });
  port = Number(new URL(await app.listen({ host: '127.0.0.1', port: 0 })).port);
}, 60_000);
afterAll(() => app.close());

const head = (method: string, path: string, ...headers: string[]) =>
  [`${method} ${path} HTTP/1.1`, 'host: a', 'content-type: application/json', ...headers, '', ''].join(
    '\r\n',
  );
const listener = (path: string, ...headers: string[]) =>
  head('POST', `/v2/listeners/${ID}/${path}`, `x-api-key: ${KEY}`, ...headers);
const LENGTH = 'content-length: 100000';
const CHUNKED = 'transfer-encoding: chunked';

/** Sends `first`, then `next` repeatedly until the server closes the connection. @returns the response */
function trickle(first: string, next: string, reads = true): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    let answer = '';
    socket.setNoDelay().write(first);
    const timer = setInterval(() => next !== '' && socket.write(next), 20);
    if (reads) socket.on('data', (data) => (answer += data));
    else socket.pause();
    socket.on('error', () => undefined);
    socket.on('close', () => {
      clearInterval(timer);
      resolve(answer);
    });
  });
}

test.each([
  ['a body that trickles', head('POST', '/public', LENGTH), ' '],
  ['a body that stops', `${head('POST', '/public', LENGTH)}{`, ''],
  ['a body of which nothing comes', head('POST', '/public', LENGTH), ''],
  ['a chunked body without an end', head('POST', '/public', CHUNKED), '1\r\n \r\n'],
  ['a body behind Expect', head('POST', '/public', LENGTH, 'expect: 100-continue'), ' '],
  ['headers that trickle', 'POST /public HTTP/1.1\r\nhost: a\r\n', 'x: y\r\n'],
  ['a header that does not end', 'POST /public HTTP/1.1\r\nhost: a\r\nx: ', 'y'],
  ['a second request on a connection', `${head('GET', '/healthz')}${head('POST', '/public', LENGTH)}`, ' '],
  ['a body with a valid key', listener('reports', LENGTH), ' '],
  ['a chunked body with a valid key', listener('inventory', CHUNKED), '1\r\n \r\n'],
])('returns 408 within the request timeout for %s', async (_what, first, next) => {
  expect(await trickle(first, next)).toContain('HTTP/1.1 408 ');
});

test('closes a silent connection, or one whose request was rejected at once, within the same timeout', async () => {
  await trickle('', '');
  await trickle(head('POST', `/v2/webhooks/${ID}`, LENGTH), ' ');
  await trickle(head('POST', '/v2/deployments', LENGTH), ' ');
});

test('ends a late request although its response has begun and is not read', async () => {
  await trickle(head('GET', '/endless', LENGTH), ' ', false);
});

test('limits the time of the arrival of a request, but not the time of its response', async () => {
  // In this time, the request of `fetch` arrives also on a busy machine.
  const slow = buildApp({ ...declaringDeps(), requestTimeoutMs: 2_000 });
  const { promise: expired, resolve } = Promise.withResolvers<void>();
  slow.post('/slow', { config: { access: 'public' } }, async () => {
    await expired;
    return { done: true };
  });
  const url = await slow.listen({ host: '127.0.0.1', port: 0 });
  const answer = fetch(`${url}/slow`, {
    method: 'POST',
    body: '{}',
    headers: { 'content-type': 'application/json' },
  });
  // A request that came with it and is late has ended: the time of both is over.
  const late = connect(Number(new URL(url).port), '127.0.0.1');
  late
    .on('error', () => undefined)
    .resume()
    .write('POST ');
  await new Promise((ended) => late.on('close', ended));
  resolve();
  expect(await (await answer).json()).toEqual({ done: true });
  await slow.close();
});
