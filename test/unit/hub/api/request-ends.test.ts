/** Ends of requests in metrics and in the log: of clients that wait, and of clients that disconnect. */
import { connect } from 'node:net';
import { Readable } from 'node:stream';
import { type FastifyReply, fastify } from 'fastify';
import { afterEach, expect, test, vi } from 'vitest';
import { cutOff } from '../../../../src/hub/api/core/client-disconnect.ts';
import type { ApiDeps } from '../../../../src/hub/api/core/deps.ts';
import { observeRequests } from '../../../../src/hub/api/observe/observe-requests.ts';
import { UNOBSERVED } from '../../../../src/hub/api/observe/observer.ts';

const stops: (() => Promise<void>)[] = [];
afterEach(async () => {
  vi.useRealTimers();
  for (const stop of stops.splice(0)) await stop();
});

async function world() {
  const app = fastify();
  const counted: string[] = [];
  const logged: string[] = [];
  let underWay = 0;
  const observer = {
    ...UNOBSERVED,
    began: () => {
      underWay += 1;
      return () => {
        underWay -= 1;
      };
    },
    answered: ({ route, status }: { route: string; status: number | 'aborted' }) => {
      counted.push(`${route} ${status}`);
    },
  };
  const handling = Promise.withResolvers<void>();
  const handled = Promise.withResolvers<void>();
  observeRequests(app, { observer } as unknown as ApiDeps, ({ url }, _, { status }) => {
    logged.push(`${url} ${status}`);
  });
  app.get('/quick', async () => ({}));
  app.get('/slow', async () => {
    handling.resolve();
    await handled.promise;
    return {};
  });
  app.get('/stream', (_, reply) => reply.send(new Readable({ read() {} }).on('data', () => {})));
  app.post('/body', async () => ({}));
  const url = new URL(await app.listen({ host: '127.0.0.1', port: 0 }));
  stops.push(() => app.close());
  /** Sends the text, waits, and disconnects. */
  const leave = async (text: string, wait: Promise<void>) => {
    const socket = connect(Number(url.port), '127.0.0.1');
    socket.write(text);
    await wait;
    socket.destroy();
  };
  return { app, url, counted, logged, leave, handling, handled, isIdle: () => underWay === 0 };
}

test('reports a complete response once, with its status', async () => {
  const the = await world();
  expect((await fetch(new URL('/quick', the.url))).status).toBe(200);
  expect((await fetch(new URL('/nothing', the.url))).status).toBe(404);
  await expect.poll(the.isIdle).toBe(true);
  expect(the.counted).toEqual(['/quick 200', 'none 404']);
  expect(the.logged).toEqual(['/quick 200', '/nothing 404']);
});

test('reports a disconnected client once, when its request has been handled', async () => {
  const the = await world();
  await the.leave('GET /slow HTTP/1.1\r\nhost: x\r\n\r\n', the.handling.promise);
  await expect.poll(the.isIdle).toBe(true);
  expect(the.counted).toEqual([]);
  the.handled.resolve();
  await expect.poll(() => the.counted).toEqual(['/slow aborted']);
  expect(the.logged).toEqual(['/slow aborted']);
});

test('reports a client that disconnects during a response or during its own request', async () => {
  const the = await world();
  const began = Promise.withResolvers<void>();
  setTimeout(began.resolve, 100);
  await the.leave('GET /stream HTTP/1.1\r\nhost: x\r\n\r\n', began.promise);
  await expect.poll(() => the.counted).toEqual(['/stream aborted']);
  const head =
    'POST /body HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 99\r\n\r\n{';
  await the.leave(head, new Promise((resolve) => setTimeout(resolve, 100)));
  await expect.poll(() => the.logged).toEqual(['/stream aborted', '/body aborted']);
  expect(the.isIdle()).toBe(true);
});

test('reports a call within the process once, even if it is aborted', async () => {
  const the = await world();
  expect((await the.app.inject('/quick')).statusCode).toBe(200);
  const given = new AbortController();
  const slow = the.app.inject({ url: '/slow', signal: given.signal });
  await the.handling.promise;
  given.abort();
  await expect(slow).rejects.toThrow();
  the.handled.resolve();
  await expect.poll(() => the.logged.length).toBe(2);
  // Each `finish` that is still to come.
  for (let turn = 0; turn < 10; turn += 1) await new Promise(setImmediate);
  await expect.poll(the.isIdle).toBe(true);
  // The connection is not closed: the response was sent, but not read.
  expect(the.logged).toEqual(['/quick 200', '/slow 200']);
  expect(the.counted).toEqual(the.logged);
});

test('disconnects a client that reads nothing some minutes after the time of its response', () => {
  vi.useFakeTimers();
  const destroy = vi.fn();
  const closing: (() => void)[] = [];
  const once = (_: string, listener: () => void) => closing.push(listener);
  const reply = () => ({ raw: { destroy, once } }) as unknown as FastifyReply;
  cutOff(reply(), 60_000);
  vi.advanceTimersByTime(300_000);
  expect(destroy).not.toHaveBeenCalled();
  vi.advanceTimersByTime(60_000);
  expect(destroy).toHaveBeenCalledOnce();
  cutOff(reply(), 60_000);
  for (const close of closing) close();
  // It was closed before the listener was added.
  cutOff({ raw: { destroy, once, destroyed: true } } as unknown as FastifyReply, 60_000);
  expect(vi.getTimerCount()).toBe(0);
  vi.advanceTimersByTime(3_600_000);
  expect(destroy).toHaveBeenCalledOnce();
});
