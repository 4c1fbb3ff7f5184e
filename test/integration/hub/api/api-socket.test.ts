/** The API over a real socket, with what only a socket shows; and its answers when PostgreSQL is away. */
import { type IncomingMessage, request } from 'node:http';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { resolvePolicy } from '../../../../src/domain/policy/policy.ts';
import { buildApp } from '../../../../src/hub/api/core/app.ts';
import { createWorkHints } from '../../../../src/hub/api/listeners/work-hints.ts';
import { createGitHost } from '../../../../src/hub/git-host/git-host.ts';
import { openDatabase } from '../../../../src/hub/store/core/database.ts';
import { waitFor } from '../../../cluster/wait.ts';
import { type ApiFixture, type Client, createBody, type Deployment, startApi } from '../../harness/api.ts';
import { checkAnswers, checkExchange } from '../../harness/conformance.ts';
import { recordingLogger } from '../../harness/store.ts';

let api: ApiFixture;
let client: Client;
let base: string;
beforeAll(async () => {
  api = await startApi();
  client = await api.tenant();
  base = await api.app.listen({ host: '127.0.0.1', port: 0 });
});
afterAll(() => api.stop());

const headers = () => ({ 'x-api-key': client.key, 'content-type': 'application/json' });

test('the API creates, reads, changes and deletes a deployment over a socket', async () => {
  const made = await fetch(`${base}/v2/deployments`, {
    method: 'POST',
    headers: headers(),
    body: JSON.stringify(createBody()),
  });
  expect(made.status).toBe(201);
  expect(made.headers.get('content-type')).toBe('application/json; charset=utf-8');
  const { id } = (await made.json()) as Deployment;
  const url = `${base}/v2/deployments/${id}`;
  const changed = await fetch(url, {
    method: 'PATCH',
    headers: { ...headers(), 'if-match': made.headers.get('etag') ?? '' },
    body: JSON.stringify({ source_config: { resource_spec: { cpu: 2 } } }),
  });
  expect(changed.headers.get('etag')).toBe('"2"');
  const deleted = await fetch(url, { method: 'DELETE', headers: { 'x-api-key': client.key } });
  expect([deleted.status, await deleted.text()]).toEqual([204, '']);
  const read = await fetch(url, { headers: headers() });
  expect(await read.json()).toMatchObject({ status: 'AWAITING_DELETE' });
});

test('slow request bodies share a limit for each tenant, and do not affect another tenant', async () => {
  const slow = (key: string) => {
    const sent = request(`${base}/v2/listeners/${crypto.randomUUID()}/reports`, {
      method: 'POST',
      headers: {
        'x-api-key': key,
        'content-type': 'application/json',
        'content-length': 16 * 1024 * 1024,
      },
    });
    const answer = new Promise<IncomingMessage>((resolve, reject) => {
      sent.on('response', resolve).on('error', reject);
    });
    answer.catch(() => undefined);
    sent.flushHeaders();
    return { sent, answer };
  };
  const other = await api.tenant();
  const held = [slow(client.key), slow(client.key), slow(client.key)];
  const refused = await Promise.race(held.map(({ answer }) => answer));
  expect(refused.statusCode).toBe(429);
  expect(refused.headers['retry-after']).toBe('1');
  const made = await fetch(`${base}/v2/deployments`, {
    method: 'POST',
    headers: { ...headers(), 'x-api-key': other.key },
    body: JSON.stringify({ ...createBody(), secrets: [{ name: 'A', value: 'x'.repeat(8000) }] }),
  });
  expect(made.status).toBe(201);
  for (const { sent } of held) sent.destroy();
});

describe('X-Request-Id', () => {
  const idOf = async (path: string, given?: string) => {
    const response = await fetch(`${base}${path}`, {
      headers: given === undefined ? {} : { 'x-request-id': given },
    });
    return response.headers.get('x-request-id');
  };

  test('is in every response, including errors', async () => {
    for (const path of [
      '/healthz',
      '/v2/deployments',
      '/nothing',
      '/%E0%A4%A',
      `/v2/deployments/${'x'.repeat(200)}`,
    ]) {
      expect(await idOf(path), path).toMatch(/^[0-9a-f-]{36}$/);
    }
  });

  test('repeats the value of the request if it has only plain characters', async () => {
    expect(await idOf('/healthz', 'trace-1.a:b')).toBe('trace-1.a:b');
    expect(await idOf('/healthz', 'a b{}')).not.toBe('a b{}');
    expect(await idOf('/healthz', 'x'.repeat(129))).toMatch(/^[0-9a-f-]{36}$/);
  });
});

test('a URL that cannot be decoded returns 400 with a detail', async () => {
  const response = await fetch(`${base}/%E0%A4%A`);
  expect(response.status).toBe(400);
  expect(await response.json()).toEqual({ detail: expect.any(String) });
});

test('an endless body is cut off at the size limit with 413', async () => {
  const answer = await new Promise<number>((resolve, reject) => {
    const upload = request(
      `${base}/v2/deployments`,
      { method: 'POST', headers: { ...headers(), 'transfer-encoding': 'chunked' } },
      (response) => {
        response.resume();
        resolve(response.statusCode ?? 0);
        upload.destroy();
      },
    );
    // The server closes the connection while more is being written.
    upload.on(
      'error',
      (error: NodeJS.ErrnoException) =>
        error.code !== 'EPIPE' && error.code !== 'ECONNRESET' && reject(error),
    );
    const chunk = 'x'.repeat(64 * 1024);
    const more = () => {
      while (!upload.destroyed && upload.write(chunk));
    };
    upload.on('drain', more);
    more();
  });
  expect(answer).toBe(413);
});

/** All that the server sends back to these bytes until it ends the connection. */
function exchange(bytes: string): Promise<string> {
  const { hostname, port } = new URL(base);
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname, () => socket.write(bytes));
    let received = '';
    socket.on('data', (data) => {
      received += data;
    });
    socket.on('close', () => resolve(received));
    socket.on('error', reject);
  });
}

/** Headers of an answer as it was received, names in lower case. */
const headersOf = (head: string) =>
  Object.fromEntries(
    [...head.matchAll(/^([\w-]+): (.*?)\r?$/gm)].map(([, name = '', value]) => [name.toLowerCase(), value]),
  );

test.each([
  ['what is no HTTP at all', 'nonsense\r\n\r\n', 400],
  ['an unknown version', 'GET /healthz HTTP/9.9\r\n\r\n', 400],
  ['headers beyond 16 KiB', `GET /healthz HTTP/1.1\r\nHost: a\r\nX-Long: ${'x'.repeat(17_000)}\r\n\r\n`, 431],
  ['HTTP/1.1 without Host', 'GET /healthz HTTP/1.1\r\nConnection: close\r\n\r\n', 400],
  ['an unknown Expect', 'GET /healthz HTTP/1.1\r\nHost: a\r\nExpect: tea\r\n\r\n', 417],
])('%s is rejected in the common error format', async (_what, bytes, status) => {
  const text = await exchange(bytes);
  const [head = '', body = ''] = text.split('\r\n\r\n');
  checkExchange({ method: 'GET', path: null, status, headers: headersOf(head), body });
  expect(head).toMatch(new RegExp(`^HTTP/1\\.1 ${status} [A-Z]`));
  expect(head).toMatch(/^x-request-id: [0-9a-f-]{36}\r?$/im);
  expect(head).toMatch(/^content-type: application\/json/im);
  expect(head).toMatch(/^connection: close\r?$/im);
  expect(JSON.parse(body)).toEqual({ detail: expect.any(String) });
  expect((await fetch(`${base}/healthz`)).status).toBe(200);
});

test('a body with an invalid chunk gets exactly one response', async () => {
  const text = await exchange(
    'POST /v2/deployments HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nnonsense\r\n\r\n',
  );
  expect(text.match(/^HTTP\/1\.1 \d/gm)).toHaveLength(1);
  expect(text).toMatch(/^HTTP\/1\.1 40[01]/);
});

describe('a request for a file of /docs', () => {
  const file = '/docs/static/swagger-ui.css';
  const get = (path: string, more: string[] = []) =>
    exchange([`GET ${path} HTTP/1.1`, 'Host: a', 'Connection: close', ...more, '', ''].join('\r\n'));

  test.each([
    ['/docs/static/..', [], [400, 404]],
    ['/docs/static/../../package.json', [], [400, 404]],
    ['/docs/static/%2e%2e/x', [], [400, 404]],
    ['/docs/static/%2e%2e%2f%2e%2e%2fpackage.json', [], [400, 404]],
    ['/docs/static/a%00b', [], [400, 404]],
    [`/docs/static/${'x'.repeat(5000)}`, [], [404, 414]],
    ['/docs/static/.git', [], [404]],
    [file, ['Range: bytes=99999999-'], [416]],
    [file, ['If-Match: "x"'], [412]],
    [file, [], [200]],
  ])('gets a response without an internal error: %s %j', async (path, more, statuses) => {
    const errors = () => api.store.logger.lines.filter(({ level }) => level === 'error').length;
    const before = errors();
    const text = await get(path, more);
    expect(statuses).toContain(Number(text.split(' ')[1]));
    expect(text).toMatch(/^x-request-id: [0-9a-f-]{36}\r?$/im);
    if (!statuses.includes(200)) {
      const [, body = ''] = text.split('\r\n\r\n');
      expect(JSON.parse(body)).toEqual({ detail: expect.stringMatching(/\.$/) });
    }
    expect(errors()).toBe(before);
  });
});

describe('the log', () => {
  test('has a line for each change, and has no secret, key or body', async () => {
    const secret = 'canary-77aa21';
    const body = createBody({ secrets: [{ name: 'A', value: secret }] });
    const made = await client.call<Deployment>('POST', '/v2/deployments', body, {
      'x-request-id': 'logged-1',
    });
    await client.call('POST', '/v2/deployments', { ...body, nonsense: secret });
    await client.call('GET', `/v2/deployments?name=${secret}`);
    await expect
      .poll(
        () =>
          api.store.logger.lines.find(
            ({ fields }) => 'requestId' in fields && fields.requestId === 'logged-1',
          ),
        { timeout: 20_000 },
      )
      .toMatchObject({
        level: 'info',
        fields: { method: 'POST', route: '/v2/deployments', status: 201, tenantId: client.tenantId },
      });
    const text = JSON.stringify(api.store.logger.lines);
    expect(text).not.toContain(secret);
    expect(text).not.toContain(client.key);
    const events = await client.call('GET', `/v2/deployments/${made.body.id}/events`);
    expect(JSON.stringify(events.body)).not.toContain(secret);
  });
});

test('an unreachable PostgreSQL leads to 503 without details of the database', async () => {
  const logger = recordingLogger();
  const url = 'postgres://user:hunter2@127.0.0.1:1/none';
  const database = openDatabase({ url, poolSize: 1, logger });
  const app = buildApp({
    database,
    secretBox: api.store.box,
    policy: resolvePolicy('self_hosted'),
    hosting: 'self_hosted',
    logger,
    hints: createWorkHints(),
    leaseSeconds: 60,
    version: '0',
    publicUrl: null,
    appDomain: null,
    registry: null,
    gitHost: createGitHost({ allowPrivate: false }),
  });
  checkAnswers(app);
  for (const path of ['/v2/deployments', '/readyz']) {
    const response = await app.inject({ url: path, headers: headers() });
    expect(response.statusCode).toBe(503);
    expect(response.headers['retry-after']).toBe('1');
    expect(response.payload).not.toMatch(/127\.0\.0\.1|hunter2|ECONN/);
  }
  expect((await app.inject({ url: '/healthz' })).statusCode).toBe(200);
  expect(JSON.stringify(logger.lines)).not.toContain('hunter2');
  await app.close();
  await database.close();
});

test('an internal error returns 500 with the request id and no details', async () => {
  await api.store.sql('ALTER TABLE events RENAME COLUMN message TO hidden');
  const response = await api.app
    .inject({ url: '/v2/events', headers: headers() })
    .finally(() => api.store.sql('ALTER TABLE events RENAME COLUMN hidden TO message'));
  expect(response.statusCode).toBe(500);
  expect(response.headers['x-request-id']).toBeTruthy();
  expect(Object.keys(response.json())).toEqual(['detail']);
  expect(response.payload).not.toMatch(/column|sql|stack|\.ts/i);
  expect(api.store.logger.lines.some(({ level, fields }) => level === 'error' && 'err' in fields)).toBe(true);
});

test('a request that arrives during the shutdown is completed, and its connection is closed', async () => {
  const other = await startApi();
  const url = new URL(await other.app.listen({ host: '127.0.0.1', port: 0 }));
  const socket = connect(Number(url.port), url.hostname);
  const answer = text(socket);
  socket.write('GET /healthz HTTP/1.1\r\nhost: berth\r\n');
  // The server has read the beginning when it responds to a later request.
  await fetch(new URL('/healthz', url));
  const stopped = other.stop();
  await waitFor(
    'nobody new to be let in',
    () =>
      fetch(url).then(
        () => false,
        () => true,
      ),
    {
      timeoutMs: 30_000,
    },
  );
  socket.write('\r\n');
  expect(await answer).toMatch(/^HTTP\/1\.1 200 OK\r\n(.+\r\n)*connection: close\r\n/i);
  await stopped;
});
