import http2 from 'node:http2';
import type { Duplex } from 'node:stream';
import { KubeError } from '../client/errors.ts';
import { Http2Pool } from './http2-pool.ts';
import {
  networkFailure,
  type Transport,
  type TransportRequest,
  type TransportResponse,
} from './transport.ts';

const ATTEMPTS = 3;

export interface Http2Options {
  server: URL;
  /** Opens a connection on which HTTP/2 was agreed. */
  connect: () => Promise<Duplex>;
  pingIntervalMs?: number;
  pingTimeoutMs?: number;
}

/** HTTP/2: one connection for all calls, other connections for watches. */
export class Http2Transport implements Transport {
  readonly #calls: Http2Pool;
  readonly #watches: Http2Pool;

  constructor(options: Http2Options) {
    this.#calls = new Http2Pool({ ...options, spread: false });
    this.#watches = new Http2Pool({ ...options, spread: true });
  }

  async send(request: TransportRequest): Promise<TransportResponse> {
    const pool = request.lane === 'watches' ? this.#watches : this.#calls;
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await exchange(await openStream(pool, request), request);
      } catch (error) {
        // The server did not process the request, so the request is sent again, even a write.
        const again = error instanceof KubeError && error.notProcessed && attempt < ATTEMPTS;
        if (!again || request.signal.aborted) throw error;
      }
    }
  }

  suspect(): void {
    this.#calls.check();
  }

  renew(): void {
    this.#calls.renew();
    this.#watches.renew();
  }

  async close(): Promise<void> {
    this.#calls.close();
    this.#watches.close();
  }
}

async function openStream(pool: Http2Pool, request: TransportRequest): Promise<http2.ClientHttp2Stream> {
  const headers = { ...request.headers, ':method': request.method, ':path': request.path };
  for (;;) {
    request.signal.throwIfAborted();
    let stream: http2.ClientHttp2Stream | undefined;
    try {
      stream = pool.request(headers, request.body === undefined);
    } catch (error) {
      throw networkError(error, request, true);
    }
    if (stream !== undefined) return stream;
    await orAborted(pool.grow(), request.signal);
  }
}

/** An aborted request stops waiting. The connection is opened nevertheless, because other requests wait for it. */
function orAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    if (signal.aborted) abort();
    else signal.addEventListener('abort', abort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}

function exchange(stream: http2.ClientHttp2Stream, request: TransportRequest): Promise<TransportResponse> {
  const { signal, body } = request;
  return new Promise((resolve, reject) => {
    const abort = () => {
      reject(signal.reason);
      stream.close(http2.constants.NGHTTP2_CANCEL);
      stream.destroy(signal.reason);
    };
    signal.addEventListener('abort', abort, { once: true });
    let isAnswered = false;
    stream.once('response', (headers) => {
      isAnswered = true;
      resolve({ status: Number(headers[':status'] ?? 0), headers, body: stream });
    });
    stream.on('error', (error) => reject(networkError(error, request, wasRefused(stream, error))));
    stream.once('close', () => {
      signal.removeEventListener('abort', abort);
      // Creating an error for each stream that closes regularly took 5 % of the time of a call.
      if (isAnswered) return;
      reject(networkError(new Error('the stream was closed'), request, wasRefused(stream)));
    });
    if (body !== undefined) stream.end(body);
  });
}

function wasRefused(stream: http2.ClientHttp2Stream, error?: NodeJS.ErrnoException): boolean {
  // A stream without an id was never sent.
  if (stream.id === undefined || stream.pending) return true;
  if (stream.rstCode === http2.constants.NGHTTP2_REFUSED_STREAM) return true;
  return error?.code === 'ERR_HTTP2_GOAWAY_SESSION' || error?.code === 'ERR_HTTP2_INVALID_SESSION';
}

function networkError(error: unknown, { signal }: TransportRequest, notProcessed: boolean): unknown {
  return signal.aborted ? signal.reason : networkFailure(error, notProcessed);
}
