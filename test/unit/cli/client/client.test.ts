import { createServer, type RequestListener, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { afterEach, expect, test, vi } from 'vitest';
import { createClient } from '../../../../src/cli/client/client.ts';
import { clientCommand } from '../../../../src/cli/client/command.ts';

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
  const code = await clientCommand(words, { tenantId: undefined, ...env });
  return { code, text: printed.join('\n') };
}

test.each([
  ['deployments', '--wait'],
  ['revisions', '--timeout', '5'],
])('reports options without a command as wrong usage: %s %s', async (...words) => {
  const { code, text } = await command(words, { url: 'http://127.0.0.1:1', apiKey: 'key' });
  expect(code).toBe(2);
  expect(text).toBe(`berth: berth ${words[0]} needs a command; see berth ${words[0]} --help`);
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

test('tries a request that cannot be sent only once, and does not print its headers', async () => {
  const sent = vi.spyOn(globalThis, 'fetch');
  const client = createClient({ url: 'http://127.0.0.1:1', apiKey: 'canary\n5521', tenantId: null });
  const problem = await client.call('listDeployments').catch((error: Error) => error);
  expect(problem).toMatchObject({
    message: 'failed to reach http://127.0.0.1:1: the request cannot be sent',
  });
  expect(sent).toHaveBeenCalledTimes(1);
});

test('does not follow a redirect with the key, and does not retry it', async () => {
  let requests = 0;
  const url = await answering((_request, response) => {
    requests++;
    response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end();
  });
  const client = createClient({ url, apiKey: 'key', tenantId: null });
  await expect(client.call('listDeployments')).rejects.toThrow('the server redirects to another address');
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
