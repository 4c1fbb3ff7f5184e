import http2, { type Http2Server, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2';
import net, { type AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { Http2Transport } from '../../../../src/cluster/kube/transport/http2.ts';
import type { TransportRequest } from '../../../../src/cluster/kube/transport/transport.ts';
import { untilPasses } from '../../until-passes.ts';
import { TcpProxy } from './tcp-proxy.ts';

interface Setup {
  transport: Http2Transport;
  server: Http2Server;
  sessions: ServerHttp2Session[];
  /** Between the two; counts the connections that the transport opens. */
  proxy: TcpProxy;
  onStream: (stream: ServerHttp2Stream, path: string) => void;
}

interface Options {
  pingIntervalMs?: number;
  pingTimeoutMs?: number;
  settings?: http2.Settings;
}

/** An HTTP/2 server without TLS, and a transport to it. */
async function setUp({ settings, ...pings }: Options = {}): Promise<Setup> {
  const server = http2.createServer({ settings });
  const setup: Partial<Setup> & Pick<Setup, 'sessions'> = { sessions: [], onStream: ok };
  server.on('session', (session) => {
    setup.sessions.push(session);
    session.on('error', () => {});
  });
  server.on('stream', (stream, headers) => {
    stream.on('error', () => {});
    setup.onStream?.(stream, String(headers[':path']));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const proxy = new TcpProxy({ host: '127.0.0.1', port: (server.address() as AddressInfo).port });
  await proxy.start();
  const { port } = proxy;
  const transport = new Http2Transport({
    server: new URL(`http://127.0.0.1:${port}`),
    connect: () =>
      new Promise((resolve, reject) => {
        const socket = net.connect(port, '127.0.0.1', () => resolve(socket));
        socket.once('error', reject);
      }),
    ...pings,
  });
  onTestFinished(async () => {
    await transport.close();
    for (const session of setup.sessions) session.destroy();
    await proxy.stop();
    await new Promise((resolve) => server.close(resolve));
  });
  return Object.assign(setup, { transport, server, proxy }) as Setup;
}

const BYTES_OF_A_PIECE = 64 * 1024;

function ok(stream: ServerHttp2Stream): void {
  stream.respond({ ':status': 200, 'content-type': 'application/json' });
  stream.end('{"fine":true}');
}

function request(fields: Partial<TransportRequest> = {}): TransportRequest {
  return {
    method: 'GET',
    path: '/x',
    headers: {},
    signal: new AbortController().signal,
    lane: 'calls',
    ...fields,
  };
}

/** Blocks the event loop. */
function standStill(ms: number): void {
  const until = performance.now() + ms;
  while (performance.now() < until);
}

test('calls share a connection, and watches use another', async () => {
  const { transport, proxy } = await setUp();
  const answers = await Promise.all(Array.from({ length: 20 }, () => transport.send(request())));
  expect(await Promise.all(answers.map(({ body }) => json(body)))).toEqual(Array(20).fill({ fine: true }));
  expect(proxy.connections).toBe(1);
  await transport.send(request({ lane: 'watches' }));
  expect(proxy.connections).toBe(2);
});

test('watches beyond the limit of a connection open further ones, and calls wait for their turn', async () => {
  const s = await setUp({ settings: { maxConcurrentStreams: 10 } });
  s.onStream = (stream, path) => (path === '/watch' ? stream.respond({ ':status': 200 }) : ok(stream));
  const watch = () => s.transport.send(request({ lane: 'watches', path: '/watch' }));
  const open = await Promise.all(Array.from({ length: 25 }, watch));
  expect(s.proxy.connections).toBe(3);
  for (const { body } of open.slice(0, 10)) body.destroy();
  await untilPasses(async () => expect((await watch()).status).toBe(200));
  expect(s.proxy.connections).toBe(3);
  await Promise.all(Array.from({ length: 50 }, async () => json((await s.transport.send(request())).body)));
  expect(s.proxy.connections).toBe(4);
});

test('a renewal after rejected credentials opens a new connection, and keeps the requests on the former one', async () => {
  const s = await setUp();
  s.onStream = (stream, path) => (path === '/watch' ? stream.respond({ ':status': 200 }) : ok(stream));
  const { body } = await s.transport.send(request({ lane: 'watches', path: '/watch' }));
  s.transport.renew();
  await s.transport.send(request({ lane: 'watches' }));
  expect(s.proxy.connections).toBe(2);
  expect(body.destroyed).toBe(false);
});

test('a request is sent with its body', async () => {
  const s = await setUp();
  s.onStream = (stream) => {
    stream.respond({ ':status': 201 });
    stream.pipe(stream);
  };
  const { status, body } = await s.transport.send(request({ method: 'POST', body: '{"a":"é"}' }));
  expect({ status, body: await json(body) }).toEqual({ status: 201, body: { a: 'é' } });
});

test('a GOAWAY lets current requests finish, and later requests use a new connection', async () => {
  const s = await setUp();
  const slow = Promise.withResolvers<ServerHttp2Stream>();
  s.onStream = (stream, path) => (path === '/slow' ? slow.resolve(stream) : ok(stream));
  const first = s.transport.send(request({ path: '/slow' }));
  const stream = await slow.promise;
  s.sessions[0]?.goaway(http2.constants.NGHTTP2_NO_ERROR);
  await untilPasses(async () => {
    await s.transport.send(request());
    expect(s.proxy.connections).toBe(2);
  });
  ok(stream);
  expect(await json((await first).body)).toEqual({ fine: true });
});

test('writes that two connections left unprocessed with a GOAWAY are sent again, and processed once', async () => {
  const s = await setUp();
  const processed: string[] = [];
  const last = new Map<unknown, number>();
  s.onStream = (stream, path) => {
    const { session, id = 0 } = stream;
    if (id > (last.get(session) ?? Number.POSITIVE_INFINITY)) return;
    if (id >= 9 && last.size < 2) {
      last.set(session, id);
      session?.goaway(http2.constants.NGHTTP2_NO_ERROR, id);
    }
    processed.push(path);
    ok(stream);
  };
  const paths = Array.from({ length: 30 }, (_, index) => `/${index}`);
  const write = (path: string) => s.transport.send(request({ method: 'POST', path, body: '{}' }));
  const answers = await Promise.all(paths.map(write));
  expect(answers.map(({ status }) => status)).toEqual(paths.map(() => 200));
  expect(processed.toSorted()).toEqual(paths.toSorted());
  expect(s.proxy.connections).toBe(3);
});

test('a stream that the server refused unprocessed is sent again, even for a write', async () => {
  const s = await setUp();
  let refused = 0;
  s.onStream = (stream) => {
    if (refused === 2) return ok(stream);
    refused += 1;
    return stream.close(http2.constants.NGHTTP2_REFUSED_STREAM);
  };
  expect((await s.transport.send(request({ method: 'POST', body: '{}' }))).status).toBe(200);
  refused = -10;
  await expect(s.transport.send(request())).rejects.toMatchObject({ kind: 'network', notProcessed: true });
});

test('a stream that the server ends without a response fails and is not sent again', async () => {
  const s = await setUp();
  let seen = 0;
  s.onStream = (stream) => {
    seen += 1;
    stream.close(http2.constants.NGHTTP2_INTERNAL_ERROR);
  };
  await expect(s.transport.send(request({ method: 'POST', body: '{}' }))).rejects.toMatchObject({
    kind: 'network',
    notProcessed: false,
  });
  expect(seen).toBe(1);
});

test('a cut connection fails its calls, and the next call opens a new one', async () => {
  const s = await setUp();
  s.onStream = () => s.proxy.cut();
  await expect(s.transport.send(request())).rejects.toMatchObject({ kind: 'network' });
  s.onStream = ok;
  expect((await s.transport.send(request())).status).toBe(200);
});

test('a blackholed connection is detected by its pings, and its watch ends', async () => {
  const s = await setUp({ pingIntervalMs: 20, pingTimeoutMs: 40 });
  s.onStream = (stream) => stream.respond({ ':status': 200 });
  const { body } = await s.transport.send(request({ lane: 'watches' }));
  const ended = new Promise((resolve) => body.once('error', resolve));
  body.resume();
  s.proxy.swallow();
  expect(await ended).toMatchObject({ message: expect.stringContaining('no answer to a ping') });
  s.onStream = ok;
  expect((await s.transport.send(request({ lane: 'watches' }))).status).toBe(200);
});

test('a connection stays open while a slow reader still has data to read before the response to a ping', async () => {
  const s = await setUp({ pingIntervalMs: 20, pingTimeoutMs: 40 });
  const pieces = 60;
  s.onStream = (stream) => {
    stream.respond({ ':status': 200 });
    for (let piece = 0; piece < pieces; piece += 1) stream.write(Buffer.alloc(BYTES_OF_A_PIECE, 'x'));
    stream.end();
  };
  const { body } = await s.transport.send(request({ lane: 'watches' }));
  let bytes = 0;
  for await (const chunk of body) {
    bytes += (chunk as Buffer).length;
    // As the operator does that reads thousands of objects on a full machine.
    standStill(10);
  }
  expect(bytes).toBe(pieces * BYTES_OF_A_PIECE);
  expect(s.proxy.connections).toBe(1);
});

test('an aborted call ends its stream at the server', async () => {
  const s = await setUp();
  const closed = Promise.withResolvers<void>();
  const give = new AbortController();
  s.onStream = (stream) => {
    stream.on('close', () => closed.resolve());
    give.abort(new Error('enough'));
  };
  await expect(s.transport.send(request({ signal: give.signal }))).rejects.toThrow('enough');
  await closed.promise;
  s.onStream = ok;
  expect((await s.transport.send(request())).status).toBe(200);
  expect(s.proxy.connections).toBe(1);
});

test('a closed transport rejects further calls', async () => {
  const { transport } = await setUp();
  await transport.send(request());
  await transport.close();
  await expect(transport.send(request())).rejects.toMatchObject({ kind: 'aborted' });
});

test('a connection stays open when this process stands still for longer than two pings', async () => {
  const s = await setUp({ pingIntervalMs: 20, pingTimeoutMs: 40 });
  s.onStream = (stream) => stream.respond({ ':status': 200 });
  const { body } = await s.transport.send(request({ lane: 'watches' }));
  body.resume();
  for (let time = 0; time < 10; time += 1) {
    standStill(100);
    await sleep(15);
  }
  expect(body.destroyed).toBe(false);
  expect(s.proxy.connections).toBe(1);
});

test('a connection stays open when this process stands still before it has written a ping', async () => {
  const s = await setUp({ pingTimeoutMs: 40 });
  s.onStream = (stream, path) => (path === '/open' ? stream.respond({ ':status': 200 }) : ok(stream));
  const { body } = await s.transport.send(request({ path: '/open' }));
  body.resume();
  // Node writes the ping when the event loop continues, which is after the timeout of the ping.
  s.transport.suspect();
  standStill(100);
  await sleep(100);
  expect(body.destroyed).toBe(false);
  expect((await s.transport.send(request())).status).toBe(200);
  expect(s.proxy.connections).toBe(1);
});

test('a write whose connection breaks reaches the server once', async () => {
  const s = await setUp();
  const seen = new Map<string, number>();
  s.onStream = (stream, path) => {
    seen.set(path, (seen.get(path) ?? 0) + 1);
    if (seen.size % 7 === 0) s.proxy.cut();
    else setTimeout(() => stream.closed || ok(stream), 5);
  };
  const write = (index: number) =>
    s.transport.send(request({ method: 'POST', path: `/${index}`, body: '{}' })).then(
      ({ body }) =>
        json(body).then(
          () => 'ok',
          () => 'cut',
        ),
      () => 'failed',
    );
  for (let round = 0; round < 20; round += 1)
    await Promise.all(Array.from({ length: 20 }, (_, index) => write(round * 20 + index)));
  expect([...seen].filter(([, times]) => times > 1)).toEqual([]);
  expect(seen.size).toBeGreaterThan(100);
});

test('each value of a header is sent as a header of its own', async () => {
  const s = await setUp();
  let raw: readonly string[] = [];
  s.server.on('stream', (_stream, _headers, _flags, rawHeaders) => {
    raw = rawHeaders as readonly string[];
  });
  await s.transport.send(request({ headers: { 'impersonate-group': ['a', 'b, c'] } }));
  const values = raw.flatMap((name, index) =>
    index % 2 === 0 && name === 'impersonate-group' ? [raw[index + 1]] : [],
  );
  expect(values).toEqual(['a', 'b, c']);
});
