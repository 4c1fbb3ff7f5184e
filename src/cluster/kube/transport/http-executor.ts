import type { Readable } from 'node:stream';
import type { ClusterAccess } from '../access/cluster-access.ts';
import type { RequestObserver } from '../client/client-types.ts';
import { isKubeError, KubeError, toKubeError } from '../client/errors.ts';
import { withDeadline } from './deadline.ts';
import { failOnStatus } from './failed-response.ts';
import type { CallLimiter } from './limiter.ts';
import type { Transport, TransportRequest, TransportResponse } from './transport.ts';

export interface ExecutorOptions {
  access: Pick<ClusterAccess, 'server' | 'headers' | 'invalidate'>;
  transport: Transport;
  userAgent: string;
  timeoutMs: number;
  writes: CallLimiter;
  observer?: RequestObserver;
}

export interface HttpCall {
  method: string;
  /** Path below the server's address, without query. */
  path: string;
  query?: Readonly<Record<string, string | number | boolean | undefined>>;
  body?: unknown;
  contentType?: string;
  /** For error messages: "failed to <action>: …". */
  action: string;
  verb: string;
  resource: string;
  dryRun?: boolean;
  /** The request is confidential. The error must not contain the server's text, which may quote the request. */
  confidential?: boolean;
  /** A write that waits neither for other writes nor for the end of a pause. */
  atOnce?: boolean;
  /** Maximum size of the body of the response. */
  maxBytes?: number;
  timeoutMs?: number;
  signal?: AbortSignal;
}

/** Longest wait of a write for its turn. Most callers have a shorter deadline from their reconcile. */
const LONGEST_WAIT_MS = 60_000;

type Lane = TransportRequest['lane'];

interface Answer {
  status: number;
  body: unknown;
}

/** Sends one call: credentials, deadline, limit on writes, errors, observation. This layer does not depend on kinds. */
export class HttpExecutor {
  readonly #options: ExecutorOptions;
  readonly #basePath: string;

  constructor(options: ExecutorOptions) {
    this.#options = options;
    this.#basePath = options.access.server.pathname.replace(/\/$/, '');
  }

  /** Status and parsed body of a successful response. */
  async call(call: HttpCall): Promise<Answer> {
    const { writes, timeoutMs } = this.#options;
    if (call.method === 'GET' || call.atOnce) return this.#inTime(call, call.signal);
    // A deadline that the caller sets includes the wait. The default deadline starts when the request is sent, because
    // a wait behind a slow call is not a failure and does not indicate a broken connection.
    const withWait = call.timeoutMs ?? timeoutMs + LONGEST_WAIT_MS;
    return withDeadline(call.action, withWait, call.signal, (signal) =>
      writes.run(() => this.#inTime(call, signal), signal),
    );
  }

  async #inTime(call: HttpCall, outer: AbortSignal | undefined): Promise<Answer> {
    const { timeoutMs, transport } = this.#options;
    const bound = call.timeoutMs ?? timeoutMs;
    try {
      return await withDeadline(call.action, bound, outer, (signal) => this.#exchange(call, signal));
    } catch (error) {
      if (isKubeError(error, 'timeout')) transport.suspect();
      throw error;
    }
  }

  #exchange(call: HttpCall, signal: AbortSignal): Promise<Answer> {
    return this.#observed(call, async () => {
      const response = await this.#send(call, signal, 'calls');
      const text = await readAll(response.body, signal, call.action, call.maxBytes);
      failOnStatus(call, response, text);
      return { status: response.status, body: parseJson(text, call.action) };
    });
  }

  /**
   * Opens a stream with a GET. The deadline applies until the response head, `signal` to the whole stream.
   * The reader handles the stream's end and errors.
   */
  async open(call: HttpCall, signal: AbortSignal): Promise<Readable> {
    return this.#observed(call, () => this.#opened(call, signal, 'watches'));
  }

  /**
   * Like `open`, but the call ends, and is observed, when `read` has finished. The call uses the connection of ordinary
   * calls.
   */
  async read(call: HttpCall, signal: AbortSignal, read: (body: Readable) => Promise<void>): Promise<void> {
    return this.#observed(call, async () => read(await this.#opened(call, signal, 'calls')));
  }

  async #opened(call: HttpCall, signal: AbortSignal, lane: Lane): Promise<Readable> {
    const bound = call.timeoutMs ?? this.#options.timeoutMs;
    const response = await withDeadline(call.action, bound, signal, (inner) =>
      this.#sendForStream(call, inner, signal, lane),
    );
    if (response.status < 400) return response.body;
    const text = await withDeadline(call.action, this.#options.timeoutMs, signal, (inner) =>
      readAll(response.body, inner, call.action),
    );
    failOnStatus(call, response, text);
    return response.body;
  }

  close(): Promise<void> {
    return this.#options.transport.close();
  }

  /**
   * The transport observes its signal until the stream ends, so it gets a signal that remains valid after the deadline.
   */
  async #sendForStream(
    call: HttpCall,
    head: AbortSignal,
    whole: AbortSignal,
    lane: Lane,
  ): Promise<TransportResponse> {
    const combined = new AbortController();
    const abortHead = () => combined.abort(head.reason);
    const abortWhole = () => combined.abort(whole.reason);
    head.addEventListener('abort', abortHead, { once: true });
    whole.addEventListener('abort', abortWhole, { once: true });
    const detach = () => whole.removeEventListener('abort', abortWhole);
    try {
      const response = await this.#send(call, combined.signal, lane);
      response.body.once('close', detach);
      return response;
    } catch (error) {
      detach();
      throw error;
    } finally {
      head.removeEventListener('abort', abortHead);
    }
  }

  async #send(call: HttpCall, signal: AbortSignal, lane: Lane): Promise<TransportResponse> {
    const { access, transport, userAgent } = this.#options;
    let credentials: Record<string, string | string[]>;
    try {
      credentials = await access.headers();
    } catch (error) {
      throw new KubeError({
        kind: 'unauthorized',
        message: `failed to ${call.action}: ${error instanceof Error ? error.message : String(error)}`,
        cause: error,
      });
    }
    let response: TransportResponse;
    try {
      response = await transport.send({
        method: call.method,
        path: this.#basePath + call.path + queryString(call.query),
        headers: {
          ...credentials,
          accept: 'application/json',
          'user-agent': userAgent,
          ...(call.body !== undefined && { 'content-type': call.contentType ?? 'application/json' }),
        },
        body: call.body === undefined ? undefined : JSON.stringify(call.body),
        signal,
        lane,
      });
    } catch (error) {
      throw signal.aborted ? error : describe(error, call.action);
    }
    if (response.status === 401) {
      access.invalidate(credentials);
      transport.renew();
    }
    return response;
  }

  async #observed<T>(call: HttpCall, exchange: () => Promise<T>): Promise<T> {
    const { observer } = this.#options;
    const began = performance.now();
    let status = 200;
    try {
      return await exchange();
    } catch (error) {
      status = isKubeError(error) ? (error.status ?? 0) : 0;
      throw error;
    } finally {
      observer?.({
        method: call.method,
        host: this.#options.access.server.host,
        path: call.path,
        verb: call.verb,
        resource: call.resource,
        dryRun: call.dryRun ?? false,
        status,
        durationMs: performance.now() - began,
      });
    }
  }
}

/** Adds the attempted call to an error of the transport. */
function describe(error: unknown, action: string): KubeError {
  if (!isKubeError(error, 'network')) return toKubeError(error, action);
  const { kind, message, cause, notProcessed } = error;
  return new KubeError({ kind, message: `failed to ${action}: ${message}`, cause, notProcessed });
}

function queryString(query: HttpCall['query'] = {}): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) parameters.set(name, String(value));
  }
  const text = parameters.toString();
  return text === '' ? '' : `?${text}`;
}

const tooLarge = (action: string, maxBytes: number) =>
  new KubeError({
    kind: 'response_too_large',
    message: `failed to ${action}: the response has more than ${maxBytes} bytes`,
  });

function readAll(
  body: Readable,
  signal: AbortSignal,
  action: string,
  maxBytes = Number.POSITIVE_INFINITY,
): Promise<string> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    let ended = false;
    const abort = () => reject(signal.reason);
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
    body.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes <= maxBytes) {
        chunks.push(chunk);
        return;
      }
      chunks.length = 0;
      reject(tooLarge(action, maxBytes));
      body.destroy();
    });
    body.once('end', () => {
      ended = true;
      resolve(Buffer.concat(chunks).toString('utf8'));
    });
    body.once('error', (error) => reject(toKubeError(error, action)));
    body.once('close', () => {
      signal.removeEventListener('abort', abort);
      if (!ended) reject(toKubeError(new Error('the response was cut off'), action));
    });
  });
}

function parseJson(text: string, action: string): unknown {
  if (text === '') return undefined;
  try {
    return JSON.parse(text);
  } catch (error) {
    // The response is incomplete, or does not come from an API server. Both cases are handled as a broken connection.
    throw new KubeError({
      kind: 'network',
      message: `failed to ${action}: the response is not JSON`,
      cause: error,
    });
  }
}
