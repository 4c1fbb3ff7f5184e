/** Sends calls to the hub, over the network (http-transport.ts) or within the process. Callers need not know which. */

export interface HubRequest {
  method: 'GET' | 'PUT' | 'POST';
  /** Path with query. */
  path: string;
  /** Sent as JSON. */
  body?: unknown;
  /** Fires when the response is no longer needed, and at the deadline. */
  signal: AbortSignal;
}

export interface HubAnswer {
  status: number;
  /** The value of the Retry-After header, in milliseconds. */
  retryAfterMs?: number;
  /** The hub's clock, in whole seconds, if the response has a date. */
  date?: Date;
  body: string;
}

/** Rejects when no response arrives. */
export type HubTransport = (request: HubRequest) => Promise<HubAnswer>;

/** `Retry-After` in seconds, as milliseconds; undefined for a date or an invalid value. */
export function retryAfter(header: string | null | undefined): number | undefined {
  const seconds = header === null || header === undefined ? Number.NaN : Number(header);
  return Number.isFinite(seconds) && seconds >= 0 ? seconds * 1000 : undefined;
}

/** Headers of a call. The headers contain the key, which is never part of a URL. */
export function headersOf(apiKey: string, body: unknown): Record<string, string> {
  return {
    'x-api-key': apiKey,
    accept: 'application/json',
    ...(body === undefined ? {} : { 'content-type': 'application/json' }),
  };
}

/** The part of fastify's `inject` that is used here. */
export type Inject = (request: {
  method: 'GET' | 'PUT' | 'POST';
  url: string;
  headers: Record<string, string>;
  payload?: string;
  signal: AbortSignal;
}) => Promise<{
  statusCode: number;
  headers: Readonly<Record<string, unknown>>;
  payload: string;
}>;

/** Calls the routes of the API within the process, including authentication. */
export function inProcessTransport(inject: Inject, apiKey: string): HubTransport {
  return async ({ method, path, body, signal }) => {
    const answer = inject({
      method,
      url: path,
      headers: headersOf(apiKey, body),
      ...(body === undefined ? {} : { payload: JSON.stringify(body) }),
      signal,
    });
    const { statusCode, headers, payload } = await unlessAborted(answer, signal);
    const header = headers['retry-after'];
    return {
      status: statusCode,
      retryAfterMs: retryAfter(header === undefined ? undefined : String(header)),
      body: payload,
    };
  };
}

/** An injected request may continue after its signal has fired. The caller does not wait for such a request. */
async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const aborted = Promise.withResolvers<never>();
  const onAbort = () => aborted.reject(signal.reason);
  if (signal.aborted) onAbort();
  signal.addEventListener('abort', onAbort, { once: true });
  work.catch(() => undefined);
  try {
    return await Promise.race([work, aborted.promise]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}
