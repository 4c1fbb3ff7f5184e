import { readFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { selfSigned } from './certificate.ts';
import type { ContainerLog, LogQuery } from './container-log.ts';

/** Logs as a kubelet serves them, so that `kubectl logs` works: the API server asks here. */

export interface LogServerOptions {
  readonly host: string;
  /** 0: a free one. */
  readonly port: number;
  /** PEM file of the authority of clients that may read; null: everybody who reaches the address. */
  readonly clientCaFile: string | null;
  /** Throws with a text for whoever asks. `previous`: of the run before the present one. */
  readonly log: (namespace: string, pod: string, container: string, previous: boolean) => ContainerLog;
}

export interface LogServer {
  readonly port: number;
  stop(): Promise<void>;
}

const PATH = /^\/containerLogs\/([^/]+)\/([^/]+)\/([^/]+)$/;

/** A query parameter as a whole number; undefined: it is not there or none. */
function count(parameters: URLSearchParams, name: string): number | undefined {
  const text = parameters.get(name);
  return text !== null && /^\d+$/.test(text) ? Number(text) : undefined;
}

/** The parameters of a kubelet, as PodLogOptions has them. */
export function logQuery(parameters: URLSearchParams, now: number): LogQuery {
  const seconds = count(parameters, 'sinceSeconds');
  const time = Date.parse(parameters.get('sinceTime') ?? '');
  const since = seconds === undefined ? (Number.isNaN(time) ? undefined : time) : now - seconds * 1000;
  const is = (name: string) => ['true', '1'].includes(parameters.get(name) ?? '');
  return {
    since,
    tail: count(parameters, 'tailLines'),
    limitBytes: count(parameters, 'limitBytes'),
    follow: is('follow'),
    timestamps: is('timestamps'),
  };
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  log: LogServerOptions['log'],
): Promise<void> {
  const refuse = (status: number, text: string) => response.writeHead(status).end(`${text}\n`);
  const url = new URL(request.url ?? '/', 'https://node');
  const match = PATH.exec(url.pathname);
  if (request.method !== 'GET' || match === null) {
    refuse(404, 'this node serves /containerLogs alone');
    return;
  }
  const [namespace = '', pod = '', container = ''] = match.slice(1).map(decodeURIComponent);
  let found: ContainerLog;
  try {
    found = log(namespace, pod, container, ['true', '1'].includes(url.searchParams.get('previous') ?? ''));
  } catch (error) {
    refuse(400, error instanceof Error ? error.message : String(error));
    return;
  }
  const closed = new AbortController();
  response.once('close', () => closed.abort());
  response.writeHead(200, { 'content-type': 'text/plain; charset=utf-8' });
  response.flushHeaders();
  for await (const text of found.read(logQuery(url.searchParams, Date.now()), closed.signal)) {
    if (text !== '' && !response.write(text)) {
      await new Promise<void>((resolve) => {
        response.once('drain', resolve);
        response.once('close', resolve);
      });
    }
  }
  response.end();
}

/** Starts the server, with a certificate that vouches for itself, as a kubelet's does. */
export async function serveLogs({ host, port, clientCaFile, log }: LogServerOptions): Promise<LogServer> {
  const clients =
    clientCaFile === null
      ? {}
      : { ca: readFileSync(clientCaFile, 'utf8'), requestCert: true, rejectUnauthorized: true };
  const server: Server = createServer({ ...selfSigned([host]), ...clients }, (request, response) => {
    answer(request, response, log).catch(() => response.destroy());
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve);
  });
  return {
    port: (server.address() as AddressInfo).port,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
