import { once } from 'node:events';
import http from 'node:http';
import https from 'node:https';
import type { ConnectionOptions } from 'node:tls';
import { FairLimiter, NO_TENANT } from '../../../domain/scheduling/fair-limiter.ts';
import { KubeError } from '../client/errors.ts';
import {
  networkFailure,
  type TlsSource,
  type Transport,
  type TransportRequest,
  type TransportResponse,
} from './transport.ts';

/**
 * Limits the connections for calls. `maxSockets` of an agent does not: the agent for HTTP proxies counts a connection only
 * when it is open.
 */
const MAX_CALLS = 64;

export interface Http1Options {
  server: URL;
  tls: TlsSource;
  /** Time in ms after which certificates are read again for new connections; default 60 s. */
  tlsMaxAgeMs?: number;
  /** Opens the connections, through a proxy. Default: connections are direct. */
  proxyAgent?: http.Agent;
}

/** HTTP/1.1 with kept-alive connections: for plain servers (tests, `kubectl proxy`) and servers without HTTP/2. */
export class Http1Transport implements Transport {
  readonly #server: URL;
  readonly #tls: TlsSource;
  readonly #tlsMaxAgeMs: number;
  readonly #agent: http.Agent;
  readonly #calls = new FairLimiter({ total: MAX_CALLS });
  #reading: Promise<void> | undefined;
  #readAgainAt = Number.POSITIVE_INFINITY;

  constructor({ server, tls, tlsMaxAgeMs = 60_000, proxyAgent }: Http1Options) {
    this.#server = server;
    this.#tls = tls;
    this.#tlsMaxAgeMs = tlsMaxAgeMs;
    const { Agent } = server.protocol === 'http:' ? http : https;
    this.#agent = proxyAgent ?? new Agent({ keepAlive: true });
  }

  send(request: TransportRequest): Promise<TransportResponse> {
    if (request.lane === 'watches') return this.#send(request);
    return new Promise((resolve, reject) => {
      const call = async () => {
        const response = await this.#send(request);
        resolve(response);
        // The connection is in use until then.
        await once(response.body, 'close');
      };
      this.#calls.run(NO_TENANT, call, request.signal).catch(reject);
    });
  }

  async #send(request: TransportRequest): Promise<TransportResponse> {
    await this.#currentTls();
    try {
      return await this.#exchange(request);
    } catch (error) {
      // The server closed a kept-alive connection just when it was reused, so a read may be sent once more.
      if (request.method !== 'GET' || !(error instanceof StaleConnection)) throw error;
      return this.#exchange(request);
    }
  }

  suspect(): void {
    // Nothing to check, because each call has its own connection, and a connection that timed out is already destroyed.
  }

  renew(): void {
    this.#reading = undefined;
  }

  async close(): Promise<void> {
    this.#agent.destroy();
  }

  #currentTls(): Promise<void> {
    if (performance.now() >= this.#readAgainAt) this.#reading = undefined;
    this.#reading ??= this.#readTls().catch((error: unknown) => {
      this.#reading = undefined;
      throw error;
    });
    return this.#reading;
  }

  async #readTls(): Promise<void> {
    if (this.#server.protocol === 'http:') return;
    this.#readAgainAt = performance.now() + this.#tlsMaxAgeMs;
    const tls: ConnectionOptions = { ...(await this.#tls()), ALPNProtocols: ['http/1.1'] };
    // Keeps the agent and its open connections. New connections use the files that were just read.
    Object.assign((this.#agent as https.Agent).options, tls);
  }

  #exchange(request: TransportRequest): Promise<TransportResponse> {
    const { method, headers, body, signal } = request;
    const library = this.#server.protocol === 'http:' ? http : https;
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason);
      const outgoing = library.request(new URL(request.path, this.#server), {
        method,
        agent: this.#agent,
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
