import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { selfSigned } from './certificate.ts';
import type { ContainerLog, LogQuery } from './container-log.ts';
import { NODE_ADDRESS } from './interface.ts';

/** Serves logs like a kubelet: the API server requests them for `kubectl logs`. */

/**
 * Finds the log of a container. `previous`: of its previous run.
 * @throws Error with a message for the client if the log does not exist
 */
export type FindLog = (namespace: string, pod: string, container: string, previous: boolean) => ContainerLog;

export interface LogServer {
  readonly port: number;
  stop(): Promise<void>;
}

const PATH = /^\/containerLogs\/([^/]+)\/([^/]+)\/([^/]+)$/;

/** A query parameter as a whole number. undefined: it is absent or not a number. */
function count(parameters: URLSearchParams, name: string): number | undefined {
  const text = parameters.get(name);
  return text !== null && /^\d+$/.test(text) ? Number(text) : undefined;
}

/** Parses the query parameters of a kubelet (PodLogOptions). */
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

async function respond(request: IncomingMessage, response: ServerResponse, find: FindLog): Promise<void> {
  const reject = (status: number, text: string) => response.writeHead(status).end(`${text}\n`);
  const url = new URL(request.url ?? '/', 'https://node');
  const match = PATH.exec(url.pathname);
  if (request.method !== 'GET' || match === null) {
    reject(404, 'this node serves only /containerLogs');
    return;
  }
  const [namespace = '', pod = '', container = ''] = match.slice(1).map(decodeURIComponent);
  let found: ContainerLog;
  try {
    found = find(namespace, pod, container, ['true', '1'].includes(url.searchParams.get('previous') ?? ''));
  } catch (error) {
    reject(400, error instanceof Error ? error.message : String(error));
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

/** Starts the server on a free port, with a self-signed certificate, like a kubelet. */
export async function serveLogs(find: FindLog): Promise<LogServer> {
  const server: Server = createServer(selfSigned([NODE_ADDRESS]), (request, response) => {
    respond(request, response, find).catch(() => response.destroy());
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, NODE_ADDRESS, resolve);
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
