import http from 'node:http';
import https from 'node:https';
import type { ConnectionOptions } from 'node:tls';
import { KubeError } from '../client/errors.ts';
import {
  networkFailure,
  type TlsSource,
  type Transport,
  type TransportRequest,
  type TransportResponse,
} from './transport.ts';

const MAX_CALL_SOCKETS = 64;

export interface Http1Options {
  server: URL;
  tls: TlsSource;
  /** Time in ms after which certificates are read again for new connections; default 60 s. */
  tlsMaxAgeMs?: number;
  /** Opens the connections, through a proxy. Default: connections are direct. */
  proxyAgent?: http.Agent;
}

interface Agents {
  calls: http.Agent;
  watches: http.Agent;
}

/** HTTP/1.1 with kept-alive connections: for plain servers (tests, `kubectl proxy`) and servers without HTTP/2. */
export class Http1Transport implements Transport {
  readonly #server: URL;
  readonly #tls: TlsSource;
  readonly #tlsMaxAgeMs: number;
  readonly #agents: Agents;
  #reading: Promise<Agents> | undefined;
  #readAgainAt = Number.POSITIVE_INFINITY;

  constructor({ server, tls, tlsMaxAgeMs = 60_000, proxyAgent }: Http1Options) {
    this.#server = server;
    this.#tls = tls;
    this.#tlsMaxAgeMs = tlsMaxAgeMs;
    const { Agent } = server.protocol === 'http:' ? http : https;
    this.#agents = {
      calls: proxyAgent ?? new Agent({ keepAlive: true, maxSockets: MAX_CALL_SOCKETS }),
      watches: proxyAgent ?? new Agent({ keepAlive: true }),
    };
  }

  async send(request: TransportRequest): Promise<TransportResponse> {
    const agents = await this.#currentAgents();
    try {
      return await this.#exchange(request, agents[request.lane]);
    } catch (error) {
      // The server closed a kept-alive connection just when it was reused, so a read may be sent once more.
      if (request.method !== 'GET' || !(error instanceof StaleConnection)) throw error;
      return this.#exchange(request, agents[request.lane]);
    }
  }

  suspect(): void {
    // Nothing to check, because each call has its own connection, and a connection that timed out is already destroyed.
  }

  renew(): void {
    this.#reading = undefined;
  }

  async close(): Promise<void> {
    this.#agents.calls.destroy();
    this.#agents.watches.destroy();
  }

  #currentAgents(): Promise<Agents> {
    if (performance.now() >= this.#readAgainAt) this.#reading = undefined;
    this.#reading ??= this.#readTls().catch((error: unknown) => {
      this.#reading = undefined;
      throw error;
    });
    return this.#reading;
  }

  async #readTls(): Promise<Agents> {
    if (this.#server.protocol === 'http:') return this.#agents;
    this.#readAgainAt = performance.now() + this.#tlsMaxAgeMs;
    const tls: ConnectionOptions = { ...(await this.#tls()), ALPNProtocols: ['http/1.1'] };
    // Keeps the agents and their open connections. New connections use the files that were just read.
    for (const agent of Object.values(this.#agents)) Object.assign((agent as https.Agent).options, tls);
    return this.#agents;
  }

  #exchange(request: TransportRequest, agent: http.Agent): Promise<TransportResponse> {
    const { method, headers, body, signal } = request;
    const library = this.#server.protocol === 'http:' ? http : https;
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason);
      const outgoing = library.request(new URL(request.path, this.#server), {
        method,
        agent,
        headers: body === undefined ? headers : { ...headers, 'content-length': Buffer.byteLength(body) },
      });
      const abort = () => outgoing.destroy(signal.reason);
      signal.addEventListener('abort', abort, { once: true });
      outgoing.once('close', () => signal.removeEventListener('abort', abort));
      outgoing.once('response', (incoming) => {
        resolve({ status: incoming.statusCode ?? 0, headers: incoming.headers, body: incoming });
      });
      outgoing.on('error', (error) => reject(failure(error, outgoing, signal)));
      outgoing.end(body);
    });
  }
}

/** A reused connection was closed before the first byte of the response. */
class StaleConnection extends KubeError {}

function failure(error: NodeJS.ErrnoException, outgoing: http.ClientRequest, signal: AbortSignal): unknown {
  if (signal.aborted) return signal.reason;
  const known = networkFailure(error);
  if (!outgoing.reusedSocket || error.code !== 'ECONNRESET') return known;
  return new StaleConnection({ kind: 'network', message: known.message, cause: error });
}
