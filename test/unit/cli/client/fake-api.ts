/** A server that answers like the API, and commands that call it in this process. */
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { onTestFinished, vi } from 'vitest';
import type { ClientSettings } from '../../../../src/cli/command/host.ts';
import { processHost, runCli } from '../../../../src/cli/run.ts';

export interface Call {
  /** Method and path, such as `GET /v2/usage`. */
  readonly line: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
  /** The value of a JSON body, otherwise its bytes. */
  readonly body: unknown;
}

/** Status, body and more headers of a response. Bytes are sent as they are. */
export type FakeAnswer =
  | readonly [number, unknown, Readonly<Record<string, string>>?]
  | 'cut off'
  | undefined;

function bodyOf(sent: Buffer, type: string | undefined): unknown {
  if (type !== undefined && type !== 'application/json') return sent;
  return sent.length === 0 ? undefined : JSON.parse(sent.toString());
}

/**
 * Starts a server.
 * @param answer undefined: 404. `cut off`: the connection ends without a response
 */
export async function fakeApi(answer: (call: Call) => FakeAnswer) {
  const calls: Call[] = [];
  const server = createServer(async (request, response) => {
    const { pathname, searchParams: query } = new URL(request.url ?? '', 'http://fake');
    const { method, headers } = request;
    const sent = await buffer(request);
    const call = {
      line: `${method} ${pathname}`,
      query,
      headers,
      body: bodyOf(sent, headers['content-type']),
    };
    calls.push(call);
    const answered = answer(call) ?? [404, { detail: 'There is no such object.' }];
    if (answered === 'cut off') return void response.destroy();
    const [status, body, more] = answered;
    response.writeHead(status, { 'content-type': 'application/json', ...more });
    response.end(status === 204 ? undefined : body instanceof Uint8Array ? body : JSON.stringify(body));
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
