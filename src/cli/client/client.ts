import createFetchClient, {
  type ClientPathsWithMethod,
  type Client as FetchClient,
  type MaybeOptionalInit,
  type MethodResponse,
} from 'openapi-fetch';
import type { paths } from './api.gen.ts';
import { ApiProblem, problemOf } from './call-problem.ts';
import { type OnRetry, sendPatiently } from './send.ts';

/** A typed client of the HTTP API: openapi-fetch, with retries and with errors for people. */

export interface ClientOptions {
  /** Base URL of the API. */
  readonly url: string;
  /** Without a key and a token, only operations that need none can be called. */
  readonly apiKey?: string | undefined;
  /** An access token, instead of a key. A function is called for each request, so that it can renew the token. */
  readonly accessToken?: string | (() => Promise<string>) | undefined;
  /** For callers with several tenants. Default: the tenant of the key or token. */
  readonly tenantId?: string | null;
  /** Aborts every call that has no signal of its own. */
  readonly signal?: AbortSignal;
}

type Api = FetchClient<paths>;
type Method = 'get' | 'post' | 'put' | 'patch' | 'delete';

/** Options of a call: `params.path`, `params.query`, `params.header`, `body`, and `signal`, which also aborts the retries. */
type Options<M extends Method, Path extends ClientPathsWithMethod<Api, M>> = MaybeOptionalInit<
  paths[Path],
  M
>;

/** Calls an operation and returns the body of its response. @throws ApiProblem */
type Call<M extends Method> = <Path extends ClientPathsWithMethod<Api, M>>(
  path: Path,
  options: Options<M, Path>,
) => Promise<MethodResponse<Api, M, Path>>;

export interface Client {
  readonly GET: Call<'get'>;
  readonly POST: Call<'post'>;
  readonly PUT: Call<'put'>;
  readonly PATCH: Call<'patch'>;
  readonly DELETE: Call<'delete'>;
  /**
   * Calls an operation that responds with one object per line (application/x-ndjson), and yields the objects as they
   * arrive. A response that is cut off ends without an error. Only a complete response has a last object that marks the
   * end.
   * @throws ApiProblem
   */
  lines<Path extends ClientPathsWithMethod<Api, 'get'>>(
    path: Path,
    options: Options<'get', Path>,
  ): AsyncGenerator<unknown>;
  /**
   * Calls an operation that stores the body of a POST under its digest. After an interruption, the body is sent again from
   * its start.
   * @param body the content, for each try
   * @param onRetry called with the reason and the pause before the body is sent again
   * @throws ApiProblem
   */
  upload<Path extends ClientPathsWithMethod<Api, 'post'>>(
    path: Path,
    options: Omit<Options<'post', Path>, 'body'>,
    body: () => AsyncIterable<Uint8Array>,
    onRetry?: OnRetry,
  ): Promise<MethodResponse<Api, 'post', Path>>;
}

/** The body of the request of an operation. */
export type InputOf<M extends Method, Path extends ClientPathsWithMethod<Api, M>> =
  Options<M, Path> extends { body?: infer Body } ? Body : never;

/** The query parameters of an operation. */
export type QueryOf<M extends Method, Path extends keyof paths> = paths[Path][M] extends {
  parameters: { query?: infer Query };
}
  ? NonNullable<Query>
  : never;

/** The body of the response of an operation. */
export type Answer<M extends Method, Path extends ClientPathsWithMethod<Api, M>> = MethodResponse<
  Api,
  M,
  Path
>;

const notThisApi = (origin: string, status: string) =>
  new ApiProblem(null, `${status}the server at ${origin} is not this API (the response is not JSON)`);

/** The problem of a response that cannot be read. */
function unreadable(origin: string, error: unknown): ApiProblem {
  if (error instanceof ApiProblem) return error;
  if (error instanceof SyntaxError) return notThisApi(origin, '');
  return new ApiProblem(null, `failed to reach ${origin}: the response was cut off`);
}

/** The objects of the lines. Empty lines are only keep-alives. */
async function* linesOf(body: ReadableStream<Uint8Array> | undefined, origin: string) {
  const decoder = new TextDecoder();
  let rest = '';
  try {
    for await (const chunk of body ?? []) {
      const lines = `${rest}${decoder.decode(chunk, { stream: true })}`.split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) if (line !== '') yield JSON.parse(line) as unknown;
    }
  } catch (error) {
    throw unreadable(origin, error);
  }
}

/** A call without the types of its operation. */
type UntypedCall = (
  method: Method,
  path: string,
  options: object,
) => Promise<{ data?: unknown; error?: unknown; response: Response }>;

function headersOf({ apiKey, accessToken, tenantId = null }: ClientOptions): Record<string, string> {
  return {
    ...(apiKey === undefined ? {} : { 'x-api-key': apiKey }),
    ...(typeof accessToken === 'string' ? { authorization: `Bearer ${accessToken}` } : {}),
    ...(tenantId === null ? {} : { 'x-tenant-id': tenantId }),
  };
}

/** The messages of these errors may contain the key or a password in the URL, so they are not quoted. */
function checkRequest(url: string, headers: Record<string, string>): void {
  try {
    new Request(url, { headers });
  } catch {
    throw new ApiProblem(null, `failed to reach ${new URL(url).origin}: the request cannot be sent`);
  }
}

/**
 * Creates a client. The client sends nothing before the first call.
 * @throws ApiProblem when no request can have this URL, key or token, and tenant
 */
export function createClient(options: ClientOptions): Client {
  const { url, accessToken, signal } = options;
  const headers = headersOf(options);
  checkRequest(url, headers);
  const send = async (sent: Request, kind?: { isStream: boolean }): Promise<Response> => {
    if (typeof accessToken === 'function') sent.headers.set('authorization', `Bearer ${await accessToken()}`);
    return sendPatiently(sent, kind);
  };
  const { origin } = new URL(url);
  const api = createFetchClient<paths>({
    baseUrl: url,
    headers,
    redirect: 'error',
    signal: signal ?? null,
    fetch: (sent) => send(sent),
  });
  const request = api.request as unknown as UntypedCall;

  async function call(method: Method, path: string, options: object): Promise<unknown> {
    const { data, error, response } = await request(method, path, options).catch((problem) => {
      throw unreadable(origin, problem);
    });
    if (response.ok) return data;
    // A 404 from another server does not mean that the deployment does not exist. A 413 is from a proxy before the API.
    if (typeof error === 'string' && error !== '' && response.status !== 413)
      throw notThisApi(origin, `${response.status}: `);
    throw problemOf(response.status, error, response.headers.get('x-request-id'));
  }

  const method = <M extends Method>(name: M) =>
    ((path: string, options: object) => call(name, path, options)) as Call<M>;
  return {
    GET: method('get'),
    POST: method('post'),
    PUT: method('put'),
    PATCH: method('patch'),
    DELETE: method('delete'),
    async *lines(path, options) {
      const open = (sent: Request) => send(sent, { isStream: true });
      const body = await call('get', path, { ...options, parseAs: 'stream', fetch: open });
      yield* linesOf(body as ReadableStream<Uint8Array> | undefined, origin);
    },
    async upload(path, options, upload, onRetry = () => undefined) {
      const send = (sent: Request) => sendPatiently(sent, { upload, onRetry });
      return (await call('post', path, { ...options, fetch: send })) as never;
    },
  };
}
