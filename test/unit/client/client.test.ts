import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test, vi } from 'vitest';
import { createClient } from '../../../src/client/client.ts';
import { clientCommand } from '../../../src/client/command.ts';

let server: Server | undefined;
afterEach(() => {
  vi.restoreAllMocks();
  server?.closeAllConnections();
  server?.close();
});

/** A server that answers so; returns its URL. */
async function answering(listener: RequestListener): Promise<string> {
  server = createServer(listener);
  await new Promise<void>((resolve) => server?.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Runs a command here; what it printed, and its exit code. */
async function command(words: readonly string[], env: { url: string; apiKey: string; tenantId?: string }) {
  const printed: string[] = [];
  for (const stream of ['log', 'error'] as const)
    vi.spyOn(console, stream).mockImplementation((text) => void printed.push(String(text)));
  const code = await clientCommand(words, { tenantId: undefined, ...env });
  return { code, text: printed.join('\n') };
}

test.each(['canary\n5521', 'canary 5521', 'canary\u20ac5521', 'canary5521\r'])(
  'a key or tenant that no header can carry is wrong usage, and not told: %j',
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
      expect(text).toMatch(/BERTH_(API_KEY|TENANT_ID) holds more than visible ASCII/);
      expect(text).not.toContain('canary');
      expect(text).not.toContain('5521');
    }
    expect(requests).toBe(0);
  },
);

test('a request that cannot be sent is tried once, and its headers are not told', async () => {
  const sent = vi.spyOn(globalThis, 'fetch');
  const client = createClient({ url: 'http://127.0.0.1:1', apiKey: 'canary\n5521', tenantId: null });
  const problem = await client.call('listDeployments').catch((error: Error) => error);
  expect(problem).toMatchObject({
    message: 'failed to reach http://127.0.0.1:1: the request cannot be sent',
  });
  expect(sent).toHaveBeenCalledTimes(1);
});

test('the key follows no redirect, and none is tried again', async () => {
  let requests = 0;
  const url = await answering((_request, response) => {
    requests++;
    response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end();
  });
  const client = createClient({ url, apiKey: 'key', tenantId: null });
  await expect(client.call('listDeployments')).rejects.toThrow('it redirects elsewhere');
  expect(requests).toBe(1);
});
