import { once } from 'node:events';
import { Agent, type IncomingMessage, request } from 'node:http';
import net, { type AddressInfo } from 'node:net';
import fastify, { type FastifyInstance } from 'fastify';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { announceShutdown, closeGracefully } from '../../../../../src/hub/api/core/graceful-shutdown.ts';

let app: FastifyInstance;
let agent: Agent;
let port: number;
let arrived: PromiseWithResolvers<void>;
let mayAnswer: PromiseWithResolvers<void>;
let closes: PromiseWithResolvers<void>;
beforeEach(async () => {
  app = fastify({ return503OnClosing: false });
  announceShutdown(app);
  arrived = Promise.withResolvers();
  mayAnswer = Promise.withResolvers();
  closes = Promise.withResolvers();
  app.addHook('preClose', (done) => {
    closes.resolve();
    done();
  });
  app.get('/slow', async () => {
    arrived.resolve();
    await mayAnswer.promise;
    return { done: true };
  });
  app.get('/stream', (_request, reply) => {
    reply.hijack();
    reply.raw.writeHead(200, { 'content-type': 'text/plain' });
    reply.raw.write('begun\n');
    arrived.resolve();
    void mayAnswer.promise.then(() => reply.raw.end('ended\n'));
  });
  await app.listen({ host: '127.0.0.1', port: 0 });
  port = (app.server.address() as AddressInfo).port;
  agent = new Agent({ keepAlive: true });
});
afterEach(async () => {
  mayAnswer.resolve();
  agent.destroy();
  await app.close();
});

/** A call of a client that keeps its connection. */
async function get(path: string): Promise<{ headers: IncomingMessage['headers']; body: string }> {
  const call = request({ port, host: '127.0.0.1', path, agent }).end();
  const [response] = (await once(call, 'response')) as [IncomingMessage];
  let body = '';
  for await (const chunk of response) body += String(chunk);
  return { headers: response.headers, body };
}

describe('the shutdown of the server', () => {
  test('completes earlier requests with Connection: close, and does not wait for a client that keeps its connection', async () => {
    const answer = get('/slow');
    await arrived.promise;
    const closed = closeGracefully(app, 60_000);
    await closes.promise;
    mayAnswer.resolve();
    expect(await answer).toMatchObject({ headers: { connection: 'close' }, body: '{"done":true}' });
    await closed;
  });

  test('closes a connection as soon as the response that began before the shutdown is complete', async () => {
    const answer = get('/stream');
    await arrived.promise;
    const closed = closeGracefully(app, 60_000);
    await closes.promise;
    mayAnswer.resolve();
    expect((await answer).body).toBe('begun\nended\n');
    await closed;
  });

  test('aborts a request that is not answered in time', async () => {
    const answer = get('/slow').catch(({ code }: { code: string }) => code);
    await arrived.promise;
    await closeGracefully(app, 100);
    expect(await answer).toBe('ECONNRESET');
  });

  test('closes a connection without any request when its time is over', async () => {
    const socket = net.connect(port, '127.0.0.1');
    socket.on('error', () => undefined);
    await Promise.all([once(socket, 'connect'), once(app.server, 'connection')]);
    const gone = once(socket, 'close');
    await closeGracefully(app, 100);
    await gone;
  });
});
