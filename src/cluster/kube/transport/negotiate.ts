import type http from 'node:http';
import tls, { type TLSSocket } from 'node:tls';
import { KubeError } from '../client/errors.ts';
import { Http1Transport } from './http1.ts';
import { Http2Transport } from './http2.ts';
import type { TlsSource, Transport, TransportRequest, TransportResponse } from './transport.ts';

const CONNECT_TIMEOUT_MS = 10_000;
const KEEP_ALIVE_MS = 15_000;

export interface NegotiatingOptions {
  server: URL;
  tls: TlsSource;
  protocol: 'auto' | 'http1';
  /** Opens the connections, through a proxy. Default: connections are direct. */
  proxyAgent?: http.Agent;
  pingIntervalMs?: number;
  pingTimeoutMs?: number;
}

/**
 * Uses HTTP/2 if the server accepts it during the TLS handshake (ALPN), otherwise HTTP/1.1. Through a proxy, HTTP/1.1 is
 * used, because the agents of proxies support nothing else.
 */
export function createTransport({
  server,
  tls: tlsSource,
  protocol,
  proxyAgent,
  ...pings
}: NegotiatingOptions): Transport {
  if (protocol === 'http1' || proxyAgent !== undefined || server.protocol === 'http:')
    return new Http1Transport({ server, tls: tlsSource, proxyAgent });
  return new NegotiatingTransport({ server, tls: tlsSource, protocol, ...pings });
}

/** The server supports only HTTP/1.1. */
class NoHttp2 extends Error {}

class NegotiatingTransport implements Transport {
  readonly #http1: Http1Transport;
  readonly #http2: Http2Transport;
  #http1Only = false;

  constructor(options: NegotiatingOptions) {
    this.#http1 = new Http1Transport(options);
    this.#http2 = new Http2Transport({ ...options, connect: () => connectHttp2(options) });
  }

  async send(request: TransportRequest): Promise<TransportResponse> {
    if (this.#http1Only) return this.#http1.send(request);
    try {
      return await this.#http2.send(request);
    } catch (error) {
      if (!(error instanceof NoHttp2)) throw error;
      this.#http1Only = true;
      return this.#http1.send(request);
    }
  }

  suspect(): void {
    this.#http2.suspect();
  }

  renew(): void {
    this.#http1.renew();
    this.#http2.renew();
  }

  async close(): Promise<void> {
    await Promise.all([this.#http1.close(), this.#http2.close()]);
  }
}

/** Fails with NoHttp2, or with a `network` KubeError. */
async function connectHttp2({ server, tls: tlsSource }: NegotiatingOptions): Promise<TLSSocket> {
  const material = await tlsSource();
  return new Promise((resolve, reject) => {
    const socket = tls.connect({
      host: server.hostname.replace(/^\[|\]$/g, ''),
      port: Number(server.port || 443),
      ALPNProtocols: ['h2', 'http/1.1'],
      ...material,
    });
    const fail = (error: Error) => {
      clearTimeout(timer);
      socket.destroy();
      const message = `no connection to ${server.host}: ${error.message}`;
      reject(new KubeError({ kind: 'network', message, cause: error }));
    };
    const timer = setTimeout(
      () => fail(new Error(`no connection within ${CONNECT_TIMEOUT_MS} ms`)),
      CONNECT_TIMEOUT_MS,
    );
    socket.once('error', fail);
    socket.once('close', () => fail(new Error('the connection was closed')));
    socket.once('secureConnect', () => {
      clearTimeout(timer);
      socket.removeAllListeners('error');
      socket.removeAllListeners('close');
      socket.setNoDelay(true);
      socket.setKeepAlive(true, KEEP_ALIVE_MS);
      if (socket.alpnProtocol === 'h2') return resolve(socket);
      socket.destroy();
      reject(new NoHttp2());
    });
  });
}
