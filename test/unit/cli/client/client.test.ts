import {
  createServer,
  type IncomingHttpHeaders,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { afterEach, expect, test, vi } from 'vitest';
import { ApiProblem } from '../../../../src/cli/client/call-problem.ts';
import { createClient } from '../../../../src/cli/client/client.ts';
import { processHost, runCli } from '../../../../src/cli/run.ts';

const sample = fileURLToPath(new URL('../../../samples/shop.json', import.meta.url));

let server: Server | undefined;
afterEach(() => {
  vi.restoreAllMocks();
  server?.closeAllConnections();
  server?.close();
});

/** Starts a server with this listener; returns its URL. */
async function answering(listener: RequestListener): Promise<string> {
  server = createServer(listener);
  await new Promise<void>((resolve) => server?.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Runs a command in this process; returns its output and its exit code. */
async function command(words: readonly string[], env: { url: string; apiKey: string; tenantId?: string }) {
  const printed: string[] = [];
  for (const stream of ['log', 'error'] as const)
    vi.spyOn(console, stream).mockImplementation((text) => void printed.push(String(text)));
  const settings = { tenantId: undefined, configHome: '/nowhere', ...env };
  const code = await runCli(words, { ...processHost(words), clientSettings: async () => settings });
  return { code, text: printed.join('\n') };
}

test.each([
  ['deployments', '--wait'],
  ['revisions', '--timeout', '5'],
])('reports options without a command as wrong usage: %s %s', async (...words) => {
  const { code, text } = await command(words, { url: 'http://127.0.0.1:1', apiKey: 'key' });
  expect(code).toBe(2);
  expect(text).toMatch(
    new RegExp(`^berth: unknown option '${words[1]}': use one of .*; see berth ${words[0]} --help$`),
  );
});

test.each(['canary\n5521', 'canary 5521', 'canary\u20ac5521', 'canary5521\r'])(
  'reports a key or tenant that no header can contain as wrong usage, without its value: %j',
  async (value) => {
    let requests = 0;
    const url = await answering((_request, response) => {
      requests++;
      response.end('{}');
    });
    for (const env of [
      { url, apiKey: value },
      { url, apiKey: 'key', tenantId: value },
    ]) {
      const { code, text } = await command(['deployments', 'list'], env);
      expect(code).toBe(2);
      expect(text).toMatch(/BERTH_(API_KEY|TENANT_ID) contains characters that are not visible ASCII/);
      expect(text).not.toContain('canary');
      expect(text).not.toContain('5521');
    }
    expect(requests).toBe(0);
  },
);

test.each([
  { url: 'http://127.0.0.1:1', apiKey: 'canary\n5521' },
  { url: 'http://user:canary-5521@127.0.0.1:1', apiKey: 'key' },
])('sends no request that cannot be sent, and does not print its headers or URL: %j', ({ url, apiKey }) => {
  const sent = vi.spyOn(globalThis, 'fetch');
  const create = () => createClient({ url, apiKey, tenantId: null });
  expect(create).toThrow(
    new ApiProblem(null, 'failed to reach http://127.0.0.1:1: the request cannot be sent'),
  );
  expect(sent).not.toHaveBeenCalled();
});

/** What a server receives. */
interface Received {
  readonly line: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** Starts a server that records requests, and responds with 503 to the first one. */
async function recording() {
  const received: Received[] = [];
  const url = await answering(async (request, response) => {
    const { method, headers } = request;
    received.push({ line: `${method} ${request.url}`, headers, body: await text(request) });
    response.writeHead(received.length === 1 ? 503 : 200, { 'content-type': 'application/json' });
    response.end('{"detail":"busy"}');
  });
  return { url, received };
}

test('sends path, query, headers and body, and the same ones when it retries', async () => {
  const { url, received } = await recording();
  const client = createClient({ url: `${url}/`, apiKey: 'key', tenantId: 'tenant' });
  const path = { deployment_id: 'a/b?c' };
  const query = { mask_secrets: true };
  const body = { secrets: [{ name: 'A', value: 'b\u20ac' }] };
  await client.PATCH('/v2/deployments/{deployment_id}', { params: { path, query }, body });
  expect(received).toHaveLength(2);
  for (const { line, headers, body: sent } of received) {
    expect(line).toBe('PATCH /v2/deployments/a%2Fb%3Fc?mask_secrets=true');
    expect(headers).toMatchObject({
      'x-api-key': 'key',
      'x-tenant-id': 'tenant',
      'content-type': 'application/json',
      'content-length': String(Buffer.byteLength(sent)),
    });
    expect(JSON.parse(sent)).toEqual(body);
  }
});

test('sends no tenant and no content type without them, and the Idempotency-Key of the call', async () => {
  const { url, received } = await recording();
  const client = createClient({ url, apiKey: 'key', tenantId: null });
  const path = { deployment_id: 'a', revision_id: 'b' };
  const header = { 'Idempotency-Key': 'once' };
  await client.POST('/v2/deployments/{deployment_id}/revisions/{revision_id}/redeploy', {
    params: { path, header },
  });
  expect(received.map(({ headers }) => headers['idempotency-key'])).toEqual(['once', 'once']);
  expect(received[1]?.headers).not.toHaveProperty('x-tenant-id');
  expect(received[1]?.headers).not.toHaveProperty('content-type');
});

test('does not retry a POST without an Idempotency-Key when its response was lost', async () => {
  let requests = 0;
  const url = await answering((request) => {
    requests++;
    request.socket.destroy();
  });
  const client = createClient({ url, apiKey: 'key', tenantId: null });
  const params = { path: { deployment_id: 'a' } };
  await expect(client.POST('/v2/deployments/{deployment_id}/push-token', { params })).rejects.toThrow(
    `failed to reach ${url}: `,
  );
  expect(requests).toBe(1);
});

test('yields lines as they arrive, and reports a stream that is cut off', async () => {
  let open: ServerResponse | undefined;
  const url = await answering((_request, response) => {
    open = response;
    response.writeHead(200, { 'content-type': 'application/x-ndjson' }).write('{"text":"a"}\n\n{"te');
  });
  const client = createClient({ url, apiKey: 'key', tenantId: null });
  const params = { path: { deployment_id: 'a' }, query: { follow: true } };
  const lines = client.lines('/v2/deployments/{deployment_id}/logs', { params });
  expect((await lines.next()).value).toEqual({ text: 'a' });
  open?.write('xt":"b"}\n');
  expect((await lines.next()).value).toEqual({ text: 'b' });
  open?.destroy();
  await expect(lines.next()).rejects.toThrow(`failed to reach ${url}: the response was cut off`);
});

test.each([
  [404, '404: the server at'],
  [200, 'the server at'],
])('reports a server that is not the API: %s with a page', async (status, message) => {
  const url = await answering((_request, response) => void response.writeHead(status).end('<html>\n'));
  const client = createClient({ url, apiKey: 'key', tenantId: null });
  const problem = new ApiProblem(null, `${message} ${url} is not this API (the response is not JSON)`);
  await expect(client.GET('/v2/deployments', {})).rejects.toThrow(problem);
  const params = { path: { deployment_id: 'a' }, query: { follow: true } };
  const lines = client.lines('/v2/deployments/{deployment_id}/logs', { params });
  await expect(lines.next()).rejects.toThrow(problem);
});

test('passes on the errors of the API: every field, and the id of the request', async () => {
  const detail = [{ type: 'missing', loc: ['query', 'limit'], msg: 'is required' }];
  const url = await answering((_request, response) => {
    response.writeHead(422, { 'content-type': 'application/json', 'x-request-id': 'id-1' });
    response.end(JSON.stringify({ detail }));
  });
  const client = createClient({ url, apiKey: 'key', tenantId: null });
  const problem = await client.GET('/v2/deployments', {}).catch((error: Error) => error);
  expect(problem).toMatchObject({
    status: 422,
    message: '422: rejected (request id-1)\n  query.limit: is required',
  });
});

test('does not follow a redirect with the key, and does not retry it', async () => {
  let requests = 0;
  const url = await answering((_request, response) => {
    requests++;
    response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end();
  });
  const client = createClient({ url, apiKey: 'key', tenantId: null });
  await expect(client.GET('/v2/deployments', {})).rejects.toThrow('the server redirects to another address');
  expect(requests).toBe(1);
});

test('prints the created deployment and exits with 3 when the wait gets no status', async () => {
  const url = await answering((request, response) => {
    const created = request.method === 'POST';
    const body = { id: 'made-1', name: 'shop', status: 'QUEUED', source_revision_config: {}, secrets: [] };
    request.resume().on('end', () => {
      response.writeHead(created ? 201 : 503, { 'content-type': 'application/json', 'retry-after': '1' });
      const made = { ...body, source_config: {}, conditions: [] };
      response.end(JSON.stringify(created ? made : { detail: 'busy' }));
    });
  });
  const words = ['deployments', 'create', '-f', sample, '--wait', '--timeout', '1', '-o', 'json'];
  const { code, text } = await command(words, { url, apiKey: 'key' });
  expect(code).toBe(3);
  expect(text).toContain('"id": "made-1"');
  expect(text).toContain('not settled after 1 seconds');
});

test('exits with 3 when the API is not reachable', async () => {
  const url = await answering((request) => request.socket.destroy());
  const { code } = await command(['deployments', 'list'], { url, apiKey: 'key' });
  expect(code).toBe(3);
});

test.each([
  ['a page of a gateway', (response: ServerResponse) => response.writeHead(404).end('<html>')],
  [
    'a response that is cut off',
    (response: ServerResponse) => {
      response.writeHead(200, { 'content-length': '9' }).write('{');
      setImmediate(() => response.destroy());
    },
  ],
])('exits with 3 when the API sends %s', async (_what, answer) => {
  const url = await answering((_request, response) => void answer(response));
  const { code, text } = await command(['deployments', 'list'], { url, apiKey: 'key' });
  expect(code, text).toBe(3);
});
