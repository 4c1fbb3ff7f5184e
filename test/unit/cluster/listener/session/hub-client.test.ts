import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { httpTransport } from '../../../../../src/cluster/listener/session/http-transport.ts';
import { createHubClient } from '../../../../../src/cluster/listener/session/hub-client.ts';
import {
  type HubAnswer,
  inProcessTransport,
} from '../../../../../src/cluster/listener/session/hub-transport.ts';
import { recordingLogger } from '../../kube/support.ts';
import { applyWork, purgeWork } from '../fixtures.ts';

const lease = { holder: 'me', version: '1', cluster_version: '', rendering: null, epoch: null };
const closers: (() => void)[] = [];
afterEach(() => {
  for (const close of closers.splice(0)) close();
});

const clientOf = (answer: HubAnswer | Error, logger = recordingLogger()) =>
  createHubClient({
    transport: async () => {
      if (answer instanceof Error) throw answer;
      return answer;
    },
    listenerId: 'l',
    logger,
  });

async function serve(handler: (request: IncomingMessage, response: ServerResponse) => void): Promise<string> {
  const server = createServer(handler);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closers.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const overHttp = (hubUrl: string) => httpTransport({ hubUrl, apiKey: 'k', caFile: null }).transport;

describe('responses of the hub', () => {
  it.each([
    [409, 'conflict'],
    [422, 'refused'],
    [400, 'refused'],
    [413, 'refused'],
    [401, 'unavailable'],
    [404, 'unavailable'],
    [429, 'unavailable'],
    [500, 'unavailable'],
    [503, 'unavailable'],
  ])('map the status %i to an error of the kind %s with the message of the hub', async (status, kind) => {
    const client = clientOf({ status, body: '{"detail":"because"}', retryAfterMs: 3000 });
    await expect(client.lease(lease)).rejects.toMatchObject({
      kind,
      status,
      message: expect.stringContaining('because'),
    });
  });

  it('cause a wait of at most a minute, even with a Retry-After of an hour', async () => {
    const client = clientOf({ status: 503, body: '', retryAfterMs: 3_600_000 });
    await expect(client.lease(lease)).rejects.toMatchObject({ retryAfterMs: 60_000 });
  });

  it('count as unavailable when they are missing or invalid', async () => {
    await expect(clientOf(new TypeError('fetch failed')).lease(lease)).rejects.toMatchObject({
      kind: 'unavailable',
      status: 0,
    });
    await expect(clientOf({ status: 200, body: '<html>' }).lease(lease)).rejects.toMatchObject({
      kind: 'unavailable',
    });
  });

  it('are not failures when the caller’s signal fires', async () => {
    const client = clientOf(new Error('aborted'));
    const signal = AbortSignal.abort(new Error('stop'));
    await expect(client.lease(lease, { signal })).rejects.toThrow('stop');
  });

  it('may contain unknown work items, which are skipped, and specs with unknown fields, which are kept', async () => {
    const logger = recordingLogger();
    const newer = { ...applyWork(), spec: { ...applyWork().spec, fieldOfTomorrow: 1 } };
    const body = JSON.stringify({ items: [newer, { kind: 'nonsense' }, purgeWork()] });
    const items = await clientOf({ status: 200, body }, logger).work({ epoch: 1, waitSeconds: 0, limit: 10 });
    expect(items.map(({ kind }) => kind)).toEqual(['apply', 'purge']);
    expect(items[0]).toMatchObject({ spec: { fieldOfTomorrow: 1 } });
    expect(logger.lines).toMatchObject([{ level: 'error' }]);
  });
});

describe('the HTTP transport', () => {
  it('sends the key and the body below the base address, and reads Retry-After', async () => {
    const seen: unknown[] = [];
    const url = await serve((request, response) => {
      let body = '';
      request.on('data', (chunk) => (body += chunk));
      request.on('end', () => {
        seen.push([request.method, request.url, request.headers['x-api-key'], JSON.parse(body)]);
        response.writeHead(429, { 'retry-after': '7' }).end('{"detail":"slow down"}');
      });
    });
    const client = createHubClient({
      transport: overHttp(`${url}/hub`),
      listenerId: 'l',
      logger: recordingLogger(),
    });
    await expect(client.lease(lease)).rejects.toMatchObject({ retryAfterMs: 7000 });
    expect(seen).toEqual([['PUT', '/hub/v2/listeners/l/lease', 'k', lease]]);
  });

  it('reports the cause of a failed connection', async () => {
    const url = await serve(() => {});
    for (const close of closers.splice(0)) close();
    const client = createHubClient({
      transport: overHttp(url),
      listenerId: 'l',
      logger: recordingLogger(),
    });
    await expect(client.lease(lease)).rejects.toThrow(/ECONNREFUSED/);
  });

  it('does not send the key to the target of a redirect', async () => {
    const url = await serve(
      (_request, response) => void response.writeHead(302, { location: 'http://evil.example/' }).end(),
    );
    const client = createHubClient({
      transport: overHttp(url),
      listenerId: 'l',
      logger: recordingLogger(),
    });
    await expect(client.lease(lease)).rejects.toMatchObject({ kind: 'unavailable' });
  });
});

describe('the in-process transport', () => {
  it('passes requests with the key to inject', async () => {
    const transport = inProcessTransport(
      async ({ method, url, headers, payload }) => ({
        statusCode: 200,
        headers: { 'retry-after': '2' },
        payload: JSON.stringify([method, url, headers['x-api-key'], payload ?? null]),
      }),
      'k',
    );
    const signal = new AbortController().signal;
    expect(await transport({ method: 'GET', path: '/x?y=1', signal })).toEqual({
      status: 200,
      retryAfterMs: 2000,
      body: '["GET","/x?y=1","k",null]',
    });
  });

  it('does not wait for a response after the signal of the caller fires', async () => {
    const transport = inProcessTransport(() => new Promise(() => {}), 'k');
    const gone = new AbortController();
    const waiting = transport({ method: 'GET', path: '/', signal: gone.signal });
    gone.abort(new Error('gone'));
    await expect(waiting).rejects.toThrow('gone');
  });
});
