/** One request at a proxy in front of an HTTP server, for HTTP/1.1 and HTTP/2. */
import { once } from 'node:events';
import http, { type IncomingMessage, type OutgoingHttpHeaders, type ServerResponse } from 'node:http';
import http2 from 'node:http2';
import https from 'node:https';
import { type ClientConnection, untilEndsAreKnown } from './client-port.ts';
import type { HttpOutcome, HttpRequest } from './http-traffic.ts';

/** The server behind a proxy, and the connections to it. */
export interface Upstream {
  readonly server: URL;
  readonly agent: http.Agent;
}

/** Headers that belong to one connection, or that the forwarding client sets itself. */
const NOT_PASSED_ON: ReadonlySet<string> = new Set([
  'connection',
  'host',
  'http2-settings',
  'keep-alive',
  'proxy-connection',
  'te',
  'transfer-encoding',
  'upgrade',
  // Without compression, the proxy can read the responses.
  'accept-encoding',
]);

export interface ExchangeParts<R> {
  readonly request: R;
  readonly incoming: IncomingMessage;
  readonly response: ServerResponse;
  readonly body: Buffer;
  readonly connection: ClientConnection;
  readonly upstream: Upstream;
  /** Called once with the record, which is updated later: when the exchange ends, or at `noteNow`. */
  readonly note: (record: R & HttpOutcome) => void;
}

/** One request, its response and its record. */
export class HttpExchange<R extends HttpRequest> {
  readonly request: R;
  readonly #parts: ExchangeParts<R>;
  readonly #gone = new AbortController();
  readonly #record: R & { -readonly [key in keyof HttpOutcome]: HttpOutcome[key] };
  #noted = false;

  constructor(parts: ExchangeParts<R>) {
    this.request = parts.request;
    this.#parts = parts;
    this.#record = { ...parts.request, status: 0, upstreamStatus: 0, endedAt: 0 };
    parts.response.once('close', this.#onGone);
    parts.connection.gone.addEventListener('abort', this.#onGone, { once: true });
    if (parts.connection.gone.aborted || parts.incoming.aborted) this.#onGone();
  }

  /** Fires when the client no longer waits: it has the complete response, or its stream has ended. */
  get gone(): AbortSignal {
    return this.#gone.signal;
  }

  /** Whether the client still waits. Also correct if its process was killed just before. */
  async isAwaited(): Promise<boolean> {
    await untilEndsAreKnown();
    return !this.gone.aborted;
  }

  /**
   * Sends the request to the server.
   * @param carriedOut whether the request continues if the client disconnects meanwhile; otherwise it is cancelled
   * @throws Error if the server cannot be reached or ends the connection
   */
  forward(carriedOut: boolean): Promise<IncomingMessage> {
    const { upstream, incoming, body } = this.#parts;
    const { method, path } = this.request;
    const { server, agent } = upstream;
    const headers = passedOn(incoming.headers);
    if (body.length > 0) headers['content-length'] = body.length;
    const request = (server.protocol === 'https:' ? https : http).request({
      protocol: server.protocol,
      hostname: server.hostname.replace(/^\[|\]$/g, ''),
      port: server.port,
      path: `${server.pathname.replace(/\/$/, '')}${path}`,
      method,
      headers,
      agent,
      ...(carriedOut ? {} : { signal: this.gone }),
    });
    request.end(body);
    return new Promise((resolve, reject) => {
      request.on('error', reject);
      request.once('response', (answer) => {
        this.#record.upstreamStatus = answer.statusCode ?? 0;
        // A reader gets the error from the stream. This handler is for the time without a reader.
        answer.on('error', () => undefined);
        resolve(answer);
      });
    });
  }

  /** Sends status and headers. The body follows in `write`. */
  head(status: number, headers: OutgoingHttpHeaders): void {
    if (this.gone.aborted) return;
    this.#record.status = status;
    this.#parts.response.writeHead(status, passedOn(headers));
    this.#parts.response.flushHeaders();
  }

  /** Writes a part of the body, and resolves when there is room for more. @throws Error if the client has disconnected */
  async write(chunk: Buffer | string): Promise<void> {
    this.gone.throwIfAborted();
    if (!this.#parts.response.write(chunk)) await once(this.#parts.response, 'drain', { signal: this.gone });
  }

  /** Ends the response. */
  finish(): void {
    this.#end();
    if (!this.gone.aborted) this.#parts.response.end();
  }

  /** Sends a complete response. */
  answer(status: number, headers: OutgoingHttpHeaders, body: string): void {
    this.head(status, { 'content-length': Buffer.byteLength(body), ...headers });
    if (!this.gone.aborted) this.#parts.response.write(body);
    this.finish();
  }

  /** Streams the response of the server to the client. */
  async deliver(answer: IncomingMessage): Promise<void> {
    this.head(answer.statusCode ?? 0, answer.headers);
    for await (const chunk of answer) await this.write(chunk as Buffer);
    this.finish();
  }

  /** Whether the complete response was sent to the client. Resolves when this is certain. */
  async isDelivered(): Promise<boolean> {
    const { response } = this.#parts;
    if (this.#record.status === 0 || !response.writableEnded) return false;
    if (!response.writableFinished && !this.gone.aborted)
      await once(response, 'finish', { signal: this.gone }).catch(() => undefined);
    // The port of the client forwards the bytes within a few iterations of the event loop.
    await untilEndsAreKnown();
    return response.writableFinished;
  }

  /** Resets the stream of the client. With HTTP/1.1, resets its connection. */
  reset(): void {
    this.#end();
    const { stream } = this.#parts.incoming as { stream?: http2.ServerHttp2Stream };
    if (stream !== undefined) stream.close(http2.constants.NGHTTP2_INTERNAL_ERROR);
    else this.#parts.connection.reset();
  }

  /** Records a stream that has no end, such as a watch. */
  noteNow(): void {
    if (this.#noted) return;
    this.#noted = true;
    this.#parts.note(this.#record);
  }

  readonly #onGone = () => {
    // The connection outlives the exchange, so its listener is removed.
    this.#parts.connection.gone.removeEventListener('abort', this.#onGone);
    this.#gone.abort();
    this.#end();
  };

  #end(): void {
    if (this.#record.endedAt === 0) this.#record.endedAt = Date.now();
    this.noteNow();
  }
}

function passedOn(headers: OutgoingHttpHeaders): OutgoingHttpHeaders {
  return Object.fromEntries(
    Object.entries(headers).filter(([name]) => !name.startsWith(':') && !NOT_PASSED_ON.has(name)),
  );
}
