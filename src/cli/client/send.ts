import { setTimeout as delay } from 'node:timers/promises';
import { ApiProblem, problemOf } from './call-problem.ts';

/** Sends requests with a timeout and retries. */

const TIMEOUT_MS = 60_000;
/** The API waits for its registry for at most a minute, and then responds. */
const UPLOAD_TIMEOUT_MS = 120_000;
const MAX_TRIES = 4;
const FIRST_PAUSE_MS = 500;
const MAX_PAUSE_MS = 30_000;
/** Statuses that the API sends before it does anything, so that every call can be retried: busy, or rate limited. */
const TRY_AGAIN: ReadonlySet<number> = new Set([429, 503]);
/** Statuses after which an upload can be repeated, because its digest makes it idempotent. */
const UPLOAD_AGAIN: ReadonlySet<number> = new Set([408, 429, 502, 503, 504]);

/** How a request is sent, if it differs from other requests. */
export interface Sending {
  /** The response may take longer than the timeout. */
  readonly isStream?: boolean;
  /** An upload: the content of the body, for each try. The timeout applies to each part of the content, and to the response. */
  readonly upload?: () => AsyncIterable<Uint8Array>;
  /** Called before the pause that precedes each retry. */
  readonly onRetry?: OnRetry;
}

/** @param reason why the request is sent again */
export type OnRetry = (reason: string, pauseMs: number) => void;

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
function noAnswer(error: unknown, timeoutMs: number): NoAnswer {
  const { name, cause } = error as Error;
  if (name === 'TimeoutError')
    return { message: `no response within ${timeoutMs / 1000} seconds`, again: true };
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

/** The request of one try. @param onPart runs before each part of an upload is sent */
function attempt(request: Request, upload: Sending['upload'], onPart: () => void): Request {
  if (upload === undefined) return request.clone();
  async function* parts() {
    for await (const part of upload?.() ?? []) {
      onPart();
      yield part;
    }
  }
  return new Request(request, { body: ReadableStream.from(parts()), duplex: 'half' });
}

/** The timeout covers the start of a stream, and the whole of any other response. */
async function sendOnce(request: Request, { isStream, upload }: Sending): Promise<Response | NoAnswer> {
  const late = new AbortController();
  const timeoutMs = upload === undefined ? TIMEOUT_MS : UPLOAD_TIMEOUT_MS;
  const timer = setTimeout(() => late.abort(new DOMException('too late', 'TimeoutError')), timeoutMs);
  timer.unref();
  try {
    const signal = AbortSignal.any([request.signal, late.signal]);
    const response = await fetch(
      attempt(request, upload, () => timer.refresh()),
      { signal },
    );
    if (isStream && response.ok) clearTimeout(timer);
    return response;
  } catch (error) {
    return request.signal.aborted
      ? { message: 'the timeout expired', again: false }
      : noAnswer(error, timeoutMs);
  }
}

/** Why a request is sent again. Reads the response to its end. */
async function reasonOf(outcome: Response | NoAnswer): Promise<string> {
  if (!(outcome instanceof Response)) return outcome.message;
  const body: unknown = await outcome.json().catch(() => null);
  return problemOf(outcome.status, body, null).message;
}

/** PATCH and DELETE are idempotent. POST is idempotent with an Idempotency-Key, and an upload because of its digest. */
function isIdempotent({ method, headers }: Request, { upload }: Sending): boolean {
  return method !== 'POST' || upload !== undefined || headers.has('idempotency-key');
}

/** Whether a request can be sent again after a response. */
function isRetried({ status, headers }: Response, { upload }: Sending, tries: number): boolean {
  if (upload === undefined) return TRY_AGAIN.has(status);
  if (status !== 409) return UPLOAD_AGAIN.has(status);
  // The API removes an old upload with the same digest, or may still be storing the previous try.
  return headers.has('retry-after') || tries > 1;
}

/**
 * Sends a request. Retries the request if it is idempotent or was not executed. A stream may take longer than the timeout.
 * @throws ApiProblem when there is no response
 */
export async function sendPatiently(request: Request, sending: Sending = {}): Promise<Response> {
  for (let tries = 1; ; tries++) {
    const outcome = await sendOnce(request, sending);
    const response = outcome instanceof Response ? outcome : null;
    const again =
      outcome instanceof Response
        ? isRetried(outcome, sending, tries)
        : outcome.again && isIdempotent(request, sending);
    if (again && tries < MAX_TRIES && !request.signal.aborted) {
      const pauseMs = pauseBefore(tries, response);
      if (sending.onRetry === undefined) await response?.body?.cancel();
      else sending.onRetry(await reasonOf(outcome), pauseMs);
      await delay(pauseMs, undefined, { signal: request.signal }).catch(() => undefined);
      continue;
    }
    if (outcome instanceof Response) return outcome;
    throw new ApiProblem(null, `failed to reach ${new URL(request.url).origin}: ${outcome.message}`);
  }
}
