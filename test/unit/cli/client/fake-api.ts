/** A server that answers like the API, and commands that call it in this process. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { onTestFinished, vi } from 'vitest';
import type { ClientSettings } from '../../../../src/cli/command/host.ts';
import { processHost, runCli } from '../../../../src/cli/run.ts';

export interface Call {
  /** Method and path, such as `GET /v2/usage`. */
  readonly line: string;
  readonly query: URLSearchParams;
  readonly body: unknown;
}

/**
 * Starts a server.
 * @param answer status and body of a response. undefined: 404
 */
export async function fakeApi(answer: (call: Call) => readonly [number, unknown] | undefined) {
  const calls: Call[] = [];
  const server = createServer(async (request, response) => {
    const { pathname, searchParams: query } = new URL(request.url ?? '', 'http://fake');
    const sent = await text(request);
    const call = {
      line: `${request.method} ${pathname}`,
      query,
      body: sent === '' ? undefined : JSON.parse(sent),
    };
    calls.push(call);
    const [status, body] = answer(call) ?? [404, { detail: 'There is no such object.' }];
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(status === 204 ? undefined : JSON.stringify(body));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    vi.restoreAllMocks();
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, calls };
}

/** Runs a command in this process. */
export async function command(words: readonly string[], settings: Partial<ClientSettings>) {
  let out = '';
  let err = '';
  vi.spyOn(console, 'log').mockImplementation((line) => {
    out += `${line}\n`;
  });
  vi.spyOn(console, 'error').mockImplementation((line) => {
    err += `${line}\n`;
  });
  const all = { url: undefined, apiKey: 'key', tenantId: undefined, configHome: '/nowhere', ...settings };
  const code = await runCli(words, { ...processHost(words), clientSettings: async () => all });
  return { code, out, err };
}
