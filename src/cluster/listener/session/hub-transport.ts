/** How a call reaches the hub: over the network (http-transport.ts), or within the process. Everything above is the same code. */

export interface HubRequest {
  method: 'GET' | 'PUT' | 'POST';
  /** Path with query. */
  path: string;
  /** Sent as JSON. */
  body?: unknown;
  /** Fires: nobody waits for the answer any more (deadline included). */
  signal: AbortSignal;
}

export interface HubAnswer {
  status: number;
  /** Of the Retry-After header, in milliseconds. */
  retryAfterMs?: number;
  /** The hub's clock, to the second, where it told. */
  date?: Date;
  body: string;
}

/** Rejects when there was no answer. */
export type HubTransport = (request: HubRequest) => Promise<HubAnswer>;

/** `Retry-After` in seconds, as milliseconds; a date or nonsense counts as absent. */
export function retryAfter(header: string | null | undefined): number | undefined {
  const seconds = header === null || header === undefined ? Number.NaN : Number(header);
  return Number.isFinite(seconds) && seconds >= 0 ? seconds * 1000 : undefined;
}

/** Headers of a call; the key is in no URL. */
export function headersOf(apiKey: string, body: unknown): Record<string, string> {
  return {
    'x-api-key': apiKey,
    accept: 'application/json',
    ...(body === undefined ? {} : { 'content-type': 'application/json' }),
  };
}

/** What fastify's `inject` takes and gives, as far as it is used here. */
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

/** Within the process, through the API's own routes, authentication included. */
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

/** An injected request may go on after its signal has fired; nobody has to wait for it. */
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
