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

/** The hub over the network. */

export interface HttpTransportOptions {
  /** http or https; what stands in front of `/v2` is kept. */
  hubUrl: string;
  apiKey: string;
  /** PEM file of the certificates that vouch for the hub, and then no others do; null: those that Node trusts. */
  caFile: string | null;
  /** Where Node finds its proxy settings, when NODE_USE_ENV_PROXY says to use them. */
  environment?: Readonly<Record<string, string | undefined>>;
}

export interface ClosableTransport {
  readonly transport: HubTransport;
  /** Ends the connections that are kept open. */
  close(): void;
}

/** An idle connection is dropped before the balancers on the way forget it without a word. */
const IDLE_MS = 50_000;
const MAX_SOCKETS = 8;
/** Answers are bounded by the protocol; this is for a program that is no hub. */
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
    if (length > MAX_ANSWER_BYTES) throw new Error('the answer is too long to be one of a hub');
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
 * Calls over HTTP, on connections that are kept open; redirects are not followed, so the key goes nowhere else.
 * Fails with Node's own error, whose `code` tells why there was no answer. After a failure the connections and the CA
 * file are made and read anew: a certificate that was replaced meanwhile needs no restart.
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
