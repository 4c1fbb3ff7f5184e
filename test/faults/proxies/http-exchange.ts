/** One request at a proxy in front of an HTTP server, for HTTP/1.1 and HTTP/2. */
import { once } from 'node:events';
import http, { type IncomingMessage, type OutgoingHttpHeaders, type ServerResponse } from 'node:http';
import http2 from 'node:http2';
import https from 'node:https';
import { type ClientConnection, untilEndsAreKnown } from './client-port.ts';
import type { HttpOutcome, HttpRequest } from './http-traffic.ts';

/** A server behind a proxy, on connections of the proxy's own. */
export interface Upstream {
  readonly server: URL;
  readonly agent: http.Agent;
}

/** Of a connection, not of a request; and what the forwarding client sets itself. */
const NOT_PASSED_ON: ReadonlySet<string> = new Set([
  'connection',
  'host',
  'http2-settings',
  'keep-alive',
  'proxy-connection',
  'te',
  'transfer-encoding',
  'upgrade',
  // So that answers come as they are, and can be read.
  'accept-encoding',
]);

export interface ExchangeParts<R> {
  readonly request: R;
  readonly incoming: IncomingMessage;
  readonly response: ServerResponse;
  readonly body: Buffer;
  readonly connection: ClientConnection;
  readonly upstream: Upstream;
  /** Called once, with what is kept up to date: when the client has its answer, never gets one, or at `noteNow`. */
  readonly note: (record: R & HttpOutcome) => void;
}

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

  /** Fires when nobody waits for the answer any more, which is also so once it was given. */
  get gone(): AbortSignal {
    return this.#gone.signal;
  }

  /** Whether the client still waits: exact even when its process was killed a moment ago. */
  async isAwaited(): Promise<boolean> {
    await untilEndsAreKnown();
    return !this.gone.aborted;
  }

  /**
   * Asks the server.
   * @param carriedOut true: also when the client goes away meanwhile; false: that cancels the request
   * @throws Error when the server cannot be reached or breaks off
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
        // Whoever reads it sees that it broke off; nobody may be reading just then.
        answer.on('error', () => undefined);
        resolve(answer);
      });
    });
  }

  /** Status and headers of the answer; the body follows in `write`. */
  head(status: number, headers: OutgoingHttpHeaders): void {
    if (this.gone.aborted) return;
    this.#record.status = status;
    this.#parts.response.writeHead(status, passedOn(headers));
    this.#parts.response.flushHeaders();
  }

  /** Resolves when there is room for more. @throws when the client is gone */
  async write(chunk: Buffer | string): Promise<void> {
    this.gone.throwIfAborted();
    if (!this.#parts.response.write(chunk)) await once(this.#parts.response, 'drain', { signal: this.gone });
  }

  /** The answer is complete. */
  finish(): void {
    this.#end();
    if (!this.gone.aborted) this.#parts.response.end();
  }

  /** The whole answer at once. */
  answer(status: number, headers: OutgoingHttpHeaders, body: string): void {
    this.head(status, { 'content-length': Buffer.byteLength(body), ...headers });
    if (!this.gone.aborted) this.#parts.response.write(body);
    this.finish();
  }

  /** Passes the server's answer on as it comes. */
  async deliver(answer: IncomingMessage): Promise<void> {
    this.head(answer.statusCode ?? 0, answer.headers);
    for await (const chunk of answer) await this.write(chunk as Buffer);
    this.finish();
  }

  /** Whether the client was told all of the answer: resolves when that is with its connection, or never will be. */
  async isDelivered(): Promise<boolean> {
    const { response } = this.#parts;
    if (this.#record.status === 0 || !response.writableEnded) return false;
    if (!response.writableFinished && !this.gone.aborted)
      await once(response, 'finish', { signal: this.gone }).catch(() => undefined);
    // It was handed to the port of the client, which passes it on within some rounds.
    await untilEndsAreKnown();
    return response.writableFinished;
  }

  /** The client's stream is reset, over HTTP/1.1 its connection. */
  reset(): void {
    this.#end();
    const { stream } = this.#parts.incoming as { stream?: http2.ServerHttp2Stream };
    if (stream !== undefined) stream.close(http2.constants.NGHTTP2_INTERNAL_ERROR);
    else this.#parts.connection.reset();
  }

  /** On record from now on: a stream without an end. */
  noteNow(): void {
    if (this.#noted) return;
    this.#noted = true;
    this.#parts.note(this.#record);
  }

  readonly #onGone = () => {
    // The connection outlives its exchanges.
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
