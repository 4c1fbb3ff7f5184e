/** Calls of hosts that a tenant may have chosen: which addresses are called, and the limits of time and size. */
import type { RequestListener } from 'node:http';
import { createServer as createHttpServer } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { callHost, type HostCall } from '../../../src/outbound/call-host.ts';
import { authority } from '../cluster/kube/self-signed.ts';

const root = authority();
const ca = root.cert;
const LOOPBACK = [{ address: '127.0.0.1', family: 4 }];

let server: Server;
let port: number;
let respond: RequestListener;
const requests: string[] = [];
let connections = 0;
beforeAll(async () => {
  const { cert, key } = root.issue(['127.0.0.1', 'localhost', 'pinned.example']);
  server = createServer({ cert, key }, (request, response) => {
    requests.push(`${request.method} ${request.headers.host}${request.url}`);
    respond(request, response);
  });
  server.on('connection', () => {
    connections += 1;
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  port = (server.address() as AddressInfo).port;
});
afterEach(() => {
  requests.length = 0;
});
afterAll(() => {
  server.close();
  server.closeAllConnections();
});

function call(url: string, more: Partial<HostCall> = {}, timeoutMs = 30_000) {
  const options: HostCall = {
    method: 'GET',
    headers: {},
    maxBytes: 1_000,
    addresses: { allowPrivate: true, closedNetworks: [] },
    ca,
    ...more,
  };
  return callHost(new URL(url), options, AbortSignal.timeout(timeoutMs));
}

describe('a call of a host', () => {
  it('connects to the checked addresses, whatever the name resolves to later', async () => {
    respond = (_request, response) => response.end('found');
    const { status, body } = await call(`https://pinned.example:${port}/x`, { addresses: LOOPBACK });
    expect([status, body.toString()]).toEqual([200, 'found']);
    expect(requests).toEqual([`GET pinned.example:${port}/x`]);
  });

  it('does not connect to a closed address, whether it is given directly or by name', async () => {
    const before = connections;
    const hosts = [
      '127.0.0.1',
      'localhost',
      'LOCALHOST.',
      '[::1]',
      '[::ffff:127.0.0.1]',
      '2130706433',
      '0.0.0.0',
    ];
    for (const host of hosts) {
      const rejected = call(`https://${host}:${port}/`, {
        addresses: { allowPrivate: false, closedNetworks: [] },
      });
      await expect(rejected, host).rejects.toMatchObject({ failure: 'closed_address' });
    }
    expect(connections).toBe(before);
  });

  it('returns a redirect instead of following it', async () => {
    respond = (_request, response) => response.writeHead(302, { location: '/elsewhere' }).end();
    expect(await call(`https://localhost:${port}/x`)).toMatchObject({
      status: 302,
      headers: { location: '/elsewhere' },
    });
    expect(requests).toHaveLength(1);
  });

  it('rejects http unless it is allowed, and every other protocol', async () => {
    const plain = createHttpServer((_request, response) => response.end('plain'));
    await new Promise<void>((resolve) => plain.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(plain.address() as AddressInfo).port}/`;
    try {
      await expect(call(url)).rejects.toMatchObject({ code: 'ERR_INVALID_PROTOCOL' });
      expect((await call(url, { allowHttp: true })).body.toString()).toBe('plain');
      await expect(call('file:///etc/passwd', { allowHttp: true })).rejects.toMatchObject({
        code: 'ERR_INVALID_PROTOCOL',
      });
    } finally {
      plain.close();
    }
  });

  it('rejects a certificate that the given authorities have not issued', async () => {
    respond = (_request, response) => response.end();
    const failed = call(`https://localhost:${port}/`, { ca: authority().cert });
    await expect(failed).rejects.toMatchObject({ failure: 'unreachable' });
    expect(requests).toEqual([]);
  });
});

describe('the limits of a call', () => {
  const endless: RequestListener = (_request, response) => {
    const write = () => {
      while (!response.destroyed && response.write('x'.repeat(1_000)));
      response.once('drain', write);
    };
    write();
  };

  it('end a response that is larger than the limit', async () => {
    respond = endless;
    await expect(call(`https://localhost:${port}/`)).rejects.toMatchObject({ failure: 'too_large' });
  });

  it('do not apply to a body that is not read', async () => {
    respond = endless;
    const { status, body } = await call(`https://localhost:${port}/`, {
      readsBody: (found) => found !== 200,
    });
    expect([status, body.length]).toEqual([200, 0]);
  });

  it('end a call without a response, and a response that does not end, with the reason of the signal', async () => {
    respond = () => undefined;
    await expect(call(`https://localhost:${port}/`, {}, 100)).rejects.toMatchObject({ name: 'TimeoutError' });
    respond = (_request, response) => response.write('part');
    await expect(call(`https://localhost:${port}/`, {}, 100)).rejects.toMatchObject({ name: 'TimeoutError' });
  });

  it('distinguish a host that is not reachable from a response that is incomplete', async () => {
    await expect(call('https://127.0.0.1:1/')).rejects.toMatchObject({
      failure: 'unreachable',
      code: 'ECONNREFUSED',
    });
    respond = (_request, response) => {
      response.writeHead(200, { 'content-length': 100 });
      response.write('part', () => response.destroy());
    };
    await expect(call(`https://localhost:${port}/`)).rejects.toMatchObject({ failure: 'incomplete' });
  });
});
