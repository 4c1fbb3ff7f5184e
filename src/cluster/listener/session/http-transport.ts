import { readFileSync } from 'node:fs';
import { Agent as HttpAgent, type IncomingMessage, request as requestHttp } from 'node:http';
import { Agent as HttpsAgent, request as requestHttps } from 'node:https';
import {
  type HubAnswer,
  type HubRequest,
  type HubTransport,
  headersOf,
  retryAfter,
} from './hub-transport.ts';

/** Calls the hub over the network. */

export interface HttpTransportOptions {
  /** http or https. A path before `/v2` is kept. */
  hubUrl: string;
  apiKey: string;
  /** PEM file of the only certificate authorities to trust for the hub; null: those of Node. */
  caFile: string | null;
  /** Environment with proxy settings, used if it contains NODE_USE_ENV_PROXY. */
  environment?: Readonly<Record<string, string | undefined>>;
}

export interface ClosableTransport {
  readonly transport: HubTransport;
  /** Closes the idle connections. */
  close(): void;
}

/** Idle connections are closed before load balancers drop them silently. */
const IDLE_MS = 50_000;
const MAX_SOCKETS = 8;
/** Maximum size of a response. The protocol has lower limits; this limit is for a server that is not a hub. */
const MAX_ANSWER_BYTES = 256 * 1024 * 1024;

function createAgent(secure: boolean, { caFile, environment }: HttpTransportOptions): HttpAgent {
  const options = {
    keepAlive: true,
    maxSockets: MAX_SOCKETS,
    timeout: IDLE_MS,
    ...(environment?.['NODE_USE_ENV_PROXY'] === '1' ? { proxyEnv: { ...environment } } : {}),
  };
  if (!secure) return new HttpAgent(options);
  return new HttpsAgent({ ...options, ...(caFile === null ? {} : { ca: readFileSync(caFile) }) });
}

async function readAnswer(response: IncomingMessage): Promise<HubAnswer> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of response) {
    length += (chunk as Buffer).length;
    if (length > MAX_ANSWER_BYTES) throw new Error('the response is too long to come from a hub');
    chunks.push(chunk as Buffer);
  }
  const date = Date.parse(response.headers.date ?? '');
  return {
    status: response.statusCode ?? 0,
    retryAfterMs: retryAfter(response.headers['retry-after']),
    ...(Number.isNaN(date) ? {} : { date: new Date(date) }),
    body: Buffer.concat(chunks).toString('utf8'),
  };
}

/**
 * Calls over HTTP with kept-alive connections. Redirects are not followed, so that the key is not sent to another
 * server. A call fails with Node's own error, whose `code` contains the cause. After a failure, connections are closed
 * and the CA file is read again, so that a replaced certificate needs no restart.
 */
export function httpTransport(options: HttpTransportOptions): ClosableTransport {
  const base = new URL(options.hubUrl);
  const root = base.href.replace(/\/?$/, '/');
  const secure = base.protocol === 'https:';
  let agent: HttpAgent | undefined;

  const send = ({ method, path, body, signal }: HubRequest) =>
    new Promise<HubAnswer>((resolve, reject) => {
      agent ??= createAgent(secure, options);
      const payload = body === undefined ? undefined : Buffer.from(JSON.stringify(body));
      const headers = {
        ...headersOf(options.apiKey, body),
        ...(payload === undefined ? {} : { 'content-length': payload.length }),
      };
      const url = new URL(path.replace(/^\//, ''), root);
      const request = (secure ? requestHttps : requestHttp)(url, { method, headers, agent, signal });
      request.once('error', reject);
      request.once('response', (response) => readAnswer(response).then(resolve, reject));
      request.end(payload);
    });

  return {
    transport: async (request) => {
      try {
        return await send(request);
      } catch (error) {
        if (!request.signal.aborted) agent = undefined;
        throw error;
      }
    },
    close: () => agent?.destroy(),
  };
}
