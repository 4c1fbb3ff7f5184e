import fastify from 'fastify';
import { expect, test } from 'vitest';
import { bodyRoom } from '../../../src/api/body-room.ts';
import { ApiError } from '../../../src/api/errors.ts';

/** Requests that are not answered until they may be. */
function world() {
  const app = fastify({ bodyLimit: 10_000 });
  app.decorateRequest('caller', null);
  const check = bodyRoom({ total: 25_000, each: 18_000 });
  app.addHook('onRequest', async (request, reply) => {
    const [keyTenantId, keyId] = String(request.headers['x-api-key']).split('/');
    request.caller = { keyTenantId: keyTenantId || null, keyId } as never;
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
  return { send, hold, release: () => release() };
}

test('bodies have room together: of a tenant, whichever key, of a key that is none’s, and in all; until they are answered', async () => {
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

test('what is larger than the route takes needs no room', async () => {
  const { send, hold, release } = world();
  const held = await hold('a/1', 9000);
  expect(await send('a/2', 12_000)).toBe(413);
  release();
  expect(await held.answer).toBe(200);
});
