import type { IncomingMessage } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import fastify from 'fastify';
import { expect, onTestFinished, test } from 'vitest';
import { limitBodies } from '../../../../../src/hub/api/core/body-limit.ts';
import { ApiError } from '../../../../../src/hub/api/core/errors.ts';

/** A server that answers no request before `release`. */
function world() {
  const app = fastify({ bodyLimit: 10_000 });
  app.decorateRequest('caller', null);
  const check = limitBodies({ total: 25_000, each: 18_000 });
  app.addHook('onRequest', async (request, reply) => {
    const [keyTenantId, keyId] = String(request.headers['x-api-key']).split('/');
    request.caller = { principal: { kind: 'api_key', keyTenantId: keyTenantId || null, keyId } } as never;
    check(request, reply);
  });
  app.setErrorHandler((error, _, reply) =>
    reply
      .code((error as ApiError).statusCode)
      .send({ retry: error instanceof ApiError && error.retryAfterSeconds }),
  );
  let release = () => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  let begun = 0;
  app.get('/', async () => {
    begun += 1;
    await released;
    return {};
  });
  app.post('/', async () => {
    begun += 1;
    await released;
    return {};
  });
  const send = async (key: string, bytes: number, headers: Record<string, string> = {}) => {
    const payload = JSON.stringify('x'.repeat(bytes - 2));
    const answer = await app.inject({
      method: 'POST',
      url: '/',
      headers: { 'x-api-key': key, 'content-type': 'application/json', ...headers },
      payload,
    });
    return answer.statusCode;
  };
  /** Sends, and waits until it is held. */
  const hold = async (key: string, bytes: number) => {
    const before = begun;
    const answer = send(key, bytes);
    while (begun === before) await new Promise(setImmediate);
    return { answer };
  };
  return { app, send, hold, begun: () => begun, release: () => release() };
}

test('limits bodies until the response: per tenant over all keys, per key without a tenant, and in total', async () => {
  const { send, hold, release } = world();
  const held = [await hold('a/1', 9000), await hold('a/2', 9000)];
  expect(await send('a/3', 9000)).toBe(429);
  held.push(await hold('/1', 6000));
  expect(await send('/2', 6000)).toBe(503);
  held.push(await hold('a/3', 1000), await hold('/2', 1000));
  release();
  expect(await Promise.all(held.map(({ answer }) => answer))).toEqual([200, 200, 200, 200, 200]);
  expect(await send('a/3', 9000)).toBe(200);
  expect(await send('/2', 6000)).toBe(200);
});

test('counts no bytes for a body that exceeds the limit of the route', async () => {
  const { send, hold, release } = world();
  const held = await hold('a/1', 9000);
  expect(await send('a/2', 12_000)).toBe(413);
  release();
  expect(await held.answer).toBe(200);
});

test('releases the bytes when the connection breaks while a response waits for an earlier one', async () => {
  const { app, send, begun, release } = world();
  await app.listen({ host: '127.0.0.1', port: 0 });
  onTestFinished(() => app.close());
  let requests = 0;
  let closed: Promise<unknown> = Promise.resolve();
  app.server.on('request', ({ socket: connection }: IncomingMessage) => {
    requests += 1;
    closed = new Promise((resolve) => connection.once('close', resolve));
  });
  const socket = connect((app.server.address() as AddressInfo).port, '127.0.0.1');
  const head = 'Host: berth\r\nX-API-Key: a/1\r\n';
  socket.write(`GET / HTTP/1.1\r\n${head}\r\n`);
  const body = JSON.stringify('x'.repeat(8998));
  socket.write(
    `POST / HTTP/1.1\r\n${head}Content-Type: application/json\r\nContent-Length: 9000\r\n\r\n${body}`,
  );
  while (requests < 2 || begun() < 2) await new Promise(setImmediate);
  expect(await send('a/2', 9500)).toBe(429);
  socket.destroy();
  await closed;
  // Before anything is answered.
  let status: number | null = null;
  const answered = send('a/2', 9500).then((code) => {
    status = code;
  });
  while (begun() < 3 && status === null) await new Promise(setImmediate);
  expect(status).toBeNull();
  release();
  await answered;
  expect(status).toBe(200);
});
