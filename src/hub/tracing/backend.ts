import { type AttemptFailure, parseRetryAfter } from './retry.ts';

/** The client of the tracing backend (docs/tracing.md). */
export interface TracingBackend {
  /**
   * Creates the project, or finds that it exists.
   * @returns the backend's own id of the project, if its response contains an id
   * @throws BackendError
   */
  create(project: TracingProjectBody, signal: AbortSignal): Promise<string | null>;
  /** Deletes the project, or finds that it does not exist. @throws BackendError */
  delete(id: string, signal: AbortSignal): Promise<void>;
}

/** A message about a project for the backend. */
export interface TracingProjectBody {
  readonly id: string;
  readonly name: string;
  readonly tenant_id: string;
  readonly tenant_name: string | null;
}

/** The backend did not accept a message. The text contains only the status of the response. */
export class BackendError extends Error {
  readonly failure: AttemptFailure;
  constructor(message: string, failure: AttemptFailure) {
    super(message);
    this.name = 'BackendError';
    this.failure = failure;
  }
}

export interface TracingBackendOptions {
  /** Base URL, http or https. */
  readonly url: string;
  /** Bearer token; null: no token is sent. */
  readonly token: string | null;
  /** Timeout in milliseconds; default 10,000. */
  readonly deadlineMs?: number;
}

export const DEADLINE_MS = 10_000;
/** Maximum number of characters that are read from a response body. */
const ANSWER_LIMIT = 65_536;
/** Removes control characters, which PostgreSQL or a terminal would not accept, and limits the length. */
const BACKEND_ID = /^[^\p{C}\p{Zl}\p{Zp}]{1,200}$/u;

function errorOf(response: Response): BackendError {
  const { status, headers } = response;
  const retryAfterMs = parseRetryAfter(headers.get('retry-after'), new Date());
  if (status >= 300 && status < 400) {
    return new BackendError(
      `it responded with the redirect ${status}, which is not followed: BERTH_TRACING_URL must be the URL of the ` +
        `backend itself`,
      { refused: true, retryAfterMs },
    );
  }
  const passing = status >= 500 || status === 408 || status === 429;
  return new BackendError(`it responded with status ${status}`, { refused: !passing, retryAfterMs });
}

/**
 * The system's error code (`ECONNREFUSED`). Messages are not used, because they may contain text that does not belong
 * in a log.
 */
function codeOf(error: unknown): string {
  const cause = error instanceof Error ? (error.cause ?? error) : error;
  const code = cause instanceof Error && 'code' in cause ? cause.code : undefined;
  return typeof code === 'string' ? code : 'the connection failed';
}

/** Errors after which the request has certainly not reached the backend. */
const NEVER_SENT: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
]);

async function readLimited(response: Response): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const chunk of response.body ?? []) {
    text += decoder.decode(chunk, { stream: true });
    // The end of the loop cancels the rest of the body.
    if (text.length > ANSWER_LIMIT) return '';
  }
  return text;
}

/** `{"id": "…"}`. Any other response has no id, and is also accepted. */
function backendIdOf(body: string): string | null {
  try {
    const { id } = JSON.parse(body) as { id?: unknown };
    const text = typeof id === 'number' ? String(id) : id;
    return typeof text === 'string' && BACKEND_ID.test(text) ? text : null;
  } catch {
    return null;
  }
}

/** Creates the client of the tracing backend. */
export function createTracingBackend(options: TracingBackendOptions): TracingBackend {
  const base = options.url.replace(/\/+$/, '');
  const deadlineMs = options.deadlineMs ?? DEADLINE_MS;
  const authorization: Record<string, string> =
    options.token === null ? {} : { authorization: `Bearer ${options.token}` };

  /** Makes the call and parses the response with `read`, all within the deadline. */
  async function call<T>(
    request: { method: 'PUT' | 'DELETE'; id: string; body?: object },
    read: (response: Response) => Promise<T>,
    signal: AbortSignal,
  ): Promise<T> {
    const deadline = AbortSignal.timeout(deadlineMs);
    try {
      const response = await fetch(`${base}/projects/${encodeURIComponent(request.id)}`, {
        method: request.method,
        headers: {
          ...authorization,
          accept: 'application/json',
          ...(request.body === undefined ? {} : { 'content-type': 'application/json' }),
        },
        body: request.body === undefined ? undefined : JSON.stringify(request.body),
        // Redirects are not followed, because the token is only for this host.
        redirect: 'manual',
        signal: AbortSignal.any([deadline, signal]),
      });
      return await read(response);
    } catch (error) {
      if (error instanceof BackendError) throw error;
      signal.throwIfAborted();
      const why = deadline.aborted ? `no response within ${deadlineMs / 1000} s` : codeOf(error);
      const unanswered = !NEVER_SENT.has(why);
      throw new BackendError(`it cannot be reached: ${why}`, { refused: false, unanswered });
    }
  }

  const refuse = async (response: Response): Promise<never> => {
    await response.body?.cancel();
    throw errorOf(response);
  };

  return {
    create: (project, signal) =>
      call(
        { method: 'PUT', id: project.id, body: project },
        async (response) => (response.ok ? backendIdOf(await readLimited(response)) : refuse(response)),
        signal,
      ),
    delete: (id, signal) =>
      call(
        { method: 'DELETE', id },
        async (response) => {
          const isGone = response.ok || response.status === 404 || response.status === 410;
          if (!isGone) await refuse(response);
          await response.body?.cancel();
        },
        signal,
      ),
  };
}
