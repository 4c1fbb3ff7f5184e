/** A tracing backend on loopback that implements the hook of docs/tracing.md and fails on demand. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A call as it came in. */
export interface BackendCall {
  readonly method: string;
  readonly path: string;
  /** Last part of the path. */
  readonly id: string;
  readonly authorization: string | undefined;
  readonly body: Record<string, unknown> | null;
}

/** What to answer: a status, with headers and body or not; `hang`: nothing until `release`. */
export type BackendAnswer =
  | { status: number; headers?: Record<string, string>; body?: string }
  | { hang: Promise<void> };

export interface TracingBackendFixture {
  readonly url: string;
  readonly calls: BackendCall[];
  /** The projects as they are there now. */
  readonly projects: Map<string, Record<string, unknown>>;
  /** Decides in place of the backend; null: it does its work. */
  onCall: (call: BackendCall) => BackendAnswer | null;
  /** Closes the port: connections are refused. */
  down(): Promise<void>;
  /** Opens the same port again. */
  up(): Promise<void>;
  stop(): Promise<void>;
}

async function readBody(request: IncomingMessage): Promise<BackendCall['body']> {
  let text = '';
  for await (const chunk of request) text += chunk;
  return text === '' ? null : JSON.parse(text);
}

function listen(server: Server, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', () => resolve((server.address() as AddressInfo).port));
  });
}

/** Starts it below the path `/hook`. */
export async function startTracingBackend(): Promise<TracingBackendFixture> {
  const calls: BackendCall[] = [];
  const projects: TracingBackendFixture['projects'] = new Map();

  const work = ({ method, id, body }: BackendCall): BackendAnswer => {
    if (method === 'DELETE') return { status: projects.delete(id) ? 204 : 404 };
    projects.set(id, body ?? {});
    return { status: 200, body: JSON.stringify({ id: `backend-${id}` }) };
  };

  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const path = request.url ?? '';
    const call: BackendCall = {
      method: request.method ?? '',
      path,
      id: decodeURIComponent(path.split('/').at(-1) ?? ''),
      authorization: request.headers.authorization,
      body: await readBody(request),
    };
    calls.push(call);
    let answer = fixture.onCall(call);
    if (answer !== null && 'hang' in answer) {
      await answer.hang;
      answer = null;
    }
    const {
      status,
      headers = {},
      body = '',
    } = (answer ?? work(call)) as Exclude<BackendAnswer, { hang: unknown }>;
    response.writeHead(status, headers).end(body);
  };

  let server: Server;
  const open = async (port: number) => {
    server = createServer((request, response) => {
      // The caller may have gone meanwhile.
      handle(request, response).catch(() => response.destroy());
    });
    return listen(server, port);
  };
  const close = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  const port = await open(0);
  const fixture: TracingBackendFixture = {
    url: `http://127.0.0.1:${port}/hook`,
    calls,
    projects,
    onCall: () => null,
    down: close,
    up: async () => void (await open(port)),
    stop: close,
  };
  return fixture;
}
