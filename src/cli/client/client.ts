import { setTimeout as delay } from 'node:timers/promises';
import { OPERATIONS, type Operations } from './api-types.ts';
import { ApiProblem, problemOf } from './call-problem.ts';

/** A typed client of the HTTP API. */

export interface ClientOptions {
  /** Base URL of the API. */
  readonly url: string;
  readonly apiKey: string;
  /** For keys that can select a tenant. null: the tenant of the key. */
  readonly tenantId: string | null;
  /** Aborts every call that has no signal of its own. */
  readonly stopped?: AbortSignal;
}

export type OperationName = keyof Operations;

/** Arguments of a call. Members that an operation does not use can be omitted. */
export type CallOf<Name extends OperationName> = {
  readonly [Part in 'path' | 'query' | 'headers']?: Operations[Name][Part];
} & {
  readonly body?: Operations[Name]['body'];
  /** Aborts the call and its retries. */
  readonly signal?: AbortSignal;
};

export interface Client {
  /** Calls an operation. @throws ApiProblem */
  call<Name extends OperationName>(name: Name, call?: CallOf<Name>): Promise<Operations[Name]['answer']>;
  /**
   * Calls an operation that responds with one object per line (application/x-ndjson), and yields the objects as they
   * arrive. A response that is cut off ends without an error. Only a complete response has a last object that marks the
   * end.
   * @throws ApiProblem
   */
  lines(name: OperationName, call?: CallOf<OperationName>): AsyncGenerator<unknown>;
}

const TIMEOUT_MS = 60_000;
const MAX_TRIES = 4;
const FIRST_PAUSE_MS = 500;
const MAX_PAUSE_MS = 30_000;
/** Statuses that the API sends before it does anything, so that every call can be retried: busy, or rate limited. */
const TRY_AGAIN: ReadonlySet<number> = new Set([429, 503]);

function urlOf(base: string, path: string, call: CallOf<OperationName>): URL {
  const values = (call.path ?? {}) as Record<string, string>;
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(values[name] ?? ''));
  const url = new URL(`${base.replace(/\/$/, '')}${filled}`);
  for (const [name, value] of Object.entries(call.query ?? {}))
    if (value !== undefined) url.searchParams.set(name, String(value));
  return url;
}

function pauseBefore(tries: number, response: Response | null): number {
  const asked = Number(response?.headers.get('retry-after') ?? Number.NaN) * 1000;
  const usual = FIRST_PAUSE_MS * 2 ** (tries - 1);
  return Math.min(Number.isNaN(asked) ? usual : Math.max(asked, usual), MAX_PAUSE_MS);
}

/** Why there was no response, and whether a retry may help. */
interface NoAnswer {
  readonly message: string;
  readonly again: boolean;
}

/**
 * Only messages of known network errors are quoted. An error of the request itself may contain its headers, and with them
 * the key.
 */
function noAnswer(error: unknown): NoAnswer {
  const { name, cause } = error as Error;
  if (name === 'TimeoutError')
    return { message: `no response within ${TIMEOUT_MS / 1000} seconds`, again: true };
  const { code, message } = (cause ?? {}) as { code?: unknown; message?: unknown };
  if (message === 'unexpected redirect')
    return {
      message: 'the server redirects to another address, and the key is not sent there',
      again: false,
    };
  if (typeof code !== 'string' || code.startsWith('UND_ERR_INVALID'))
    return { message: 'the request cannot be sent', again: false };
  return { message: typeof message === 'string' && message !== '' ? message : code, again: true };
}

interface Request extends RequestInit {
  readonly signal: AbortSignal;
}

/** The timeout covers the start of a stream, and the whole of any other response. */
async function send(url: URL, request: Request, isStream: boolean): Promise<Response | NoAnswer> {
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(new DOMException('too late', 'TimeoutError')), TIMEOUT_MS);
  timer.unref();
  try {
    const signal = AbortSignal.any([request.signal, late.signal]);
    const response = await fetch(url, { ...request, redirect: 'error', signal });
    if (isStream && response.ok) clearTimeout(timer);
    return response;
  } catch (error) {
    return request.signal.aborted ? { message: 'the timeout expired', again: false } : noAnswer(error);
  }
}

/** Sends a request. Retries the request if it is idempotent or was not executed. */
async function sendPatiently(
  url: URL,
  request: Request,
  { repeatable, isStream = false }: { repeatable: boolean; isStream?: boolean },
): Promise<Response> {
  for (let tries = 1; ; tries++) {
    const outcome = await send(url, request, isStream);
    const response = outcome instanceof Response ? outcome : null;
    const again = outcome instanceof Response ? TRY_AGAIN.has(outcome.status) : outcome.again && repeatable;
    if (again && tries < MAX_TRIES && !request.signal.aborted) {
      await response?.body?.cancel();
      await delay(pauseBefore(tries, response), undefined, { signal: request.signal }).catch(() => undefined);
      continue;
    }
    if (outcome instanceof Response) return outcome;
    throw new ApiProblem(null, `failed to reach ${url.origin}: ${outcome.message}`);
  }
}

async function bodyOf(response: Response): Promise<unknown> {
  const { origin } = new URL(response.url);
  const text = await response.text().catch(() => {
    throw new ApiProblem(null, `failed to reach ${origin}: the response was cut off`);
  });
  if (text === '') return null;
  try {
    return JSON.parse(text);
  } catch {
    // A 404 from another server does not mean that the deployment does not exist.
    throw new ApiProblem(
      null,
      `${response.status}: the server at ${origin} is not this API (the response is not JSON)`,
    );
  }
}

/** The objects of the lines. Empty lines are only keep-alives. */
async function* linesOf(response: Response): AsyncGenerator<unknown> {
  const { origin } = new URL(response.url);
  const decoder = new TextDecoder();
  let rest = '';
  try {
    for await (const chunk of response.body ?? []) {
      const lines = `${rest}${decoder.decode(chunk, { stream: true })}`.split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) if (line !== '') yield JSON.parse(line);
    }
  } catch (error) {
    if (error instanceof SyntaxError)
      throw new ApiProblem(
        null,
        `${response.status}: the server at ${origin} is not this API (the response is not JSON)`,
      );
    throw new ApiProblem(null, `failed to reach ${origin}: the response was cut off`);
  }
}

/** Creates a client. The client sends nothing before the first call. */
export function createClient({ url: base, apiKey, tenantId, stopped }: ClientOptions): Client {
  const never = stopped ?? new AbortController().signal;
  const headersOf = (call: CallOf<OperationName>) => ({
    'x-api-key': apiKey,
    ...(tenantId === null ? {} : { 'x-tenant-id': tenantId }),
    ...(call.body === undefined ? {} : { 'content-type': 'application/json' }),
    ...((call.headers ?? {}) as Record<string, string>),
  });
  return {
    async call(name, call = {}) {
      const { method, path } = OPERATIONS[name];
      const headers = headersOf(call);
      const text = call.body === undefined ? null : JSON.stringify(call.body);
      const request = { method, headers, body: text, signal: call.signal ?? never };
      // PATCH and DELETE are idempotent. POST is idempotent with an Idempotency-Key.
      const repeatable = method !== 'POST' || 'Idempotency-Key' in headers;
      const response = await sendPatiently(urlOf(base, path, call), request, { repeatable });
      const body = await bodyOf(response);
      if (!response.ok) throw problemOf(response.status, body, response.headers.get('x-request-id'));
      return body as Operations[typeof name]['answer'];
    },
    async *lines(name, call = {}) {
      const { method, path } = OPERATIONS[name];
      const request = { method, headers: headersOf(call), signal: call.signal ?? never };
      const way = { repeatable: method === 'GET', isStream: true };
      const response = await sendPatiently(urlOf(base, path, call), request, way);
      if (!response.ok)
        throw problemOf(response.status, await bodyOf(response), response.headers.get('x-request-id'));
      yield* linesOf(response);
    },
  };
}
