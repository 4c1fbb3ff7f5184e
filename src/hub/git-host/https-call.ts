import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { type RequestOptions, request } from 'node:https';
import { isIP } from 'node:net';
import { publicLookup } from '../../dns/public-lookup.ts';
import { GitHostError } from '../../domain/builds/git-host.ts';
import { isPublicAddress } from '../../domain/net/networks.ts';

/**
 * Calls a host that a tenant chose, over https. The call follows no redirect, calls no private address, connects to the
 * address that was checked, and has limits of time and size.
 */

export interface HttpsOptions {
  /** Whether private and loopback addresses may be called. */
  readonly allowPrivate: boolean;
  /** Timeout of the whole operation, in milliseconds. */
  readonly deadlineMs: number;
  /** Maximum size of the response, in bytes. */
  readonly maxBytes: number;
  /** PEM of the certificate authority that replaces Node's own. */
  readonly ca?: string | undefined;
}

export interface HttpsCall {
  readonly method: 'GET' | 'POST';
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Buffer;
}

export interface HttpsAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** Body of the response; empty unless the status is 200. */
  readonly body: Buffer;
}

const privateAddress = () =>
  new GitHostError(
    'private_address',
    'it has a private address, and this installation does not call private addresses',
  );

const lookup = publicLookup({ refused: privateAddress });

/** A literal address is checked here, because it needs no DNS lookup. */
function checkLiteral(hostname: string): void {
  const address = hostname.replace(/^\[|\]$/g, '');
  if (address === 'localhost' || (isIP(address) !== 0 && !isPublicAddress(address))) throw privateAddress();
}

function requestOptions(
  { method, headers, body }: HttpsCall,
  options: HttpsOptions,
  signal: AbortSignal,
): RequestOptions {
  return {
    method,
    headers: {
      ...headers,
      'user-agent': 'berth',
      ...(body === undefined ? {} : { 'content-length': String(body.length) }),
    },
    // Connections are not reused, because the next call may be for another tenant, or the name may resolve to another
    // address.
    agent: false,
    signal,
    ...(options.allowPrivate ? {} : { lookup }),
    ...(options.ca === undefined ? {} : { ca: options.ca }),
  };
}

function open(url: URL, options: RequestOptions, body: Buffer | undefined): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    request(url, options).on('response', resolve).on('error', reject).end(body);
  });
}

async function readBody(response: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > maxBytes)
      throw new GitHostError('unreadable', `its response is larger than ${maxBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/**
 * Only the error code, such as ECONNREFUSED, is shown, because it comes from Node. A message may contain text of the
 * host.
 */
function connectionError(error: unknown): GitHostError {
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'the connection failed';
  return new GitHostError('unavailable', `it cannot be reached (${code})`);
}

/**
 * Makes the call and returns responses of any status.
 * @param signal aborts the call at the deadline of the whole operation
 * @throws GitHostError
 */
export async function callHttps(
  url: URL,
  call: HttpsCall,
  options: HttpsOptions,
  signal: AbortSignal,
): Promise<HttpsAnswer> {
  if (!options.allowPrivate) checkLiteral(url.hostname);
  let response: IncomingMessage | undefined;
  try {
    response = await open(url, requestOptions(call, options, signal), call.body);
    const { statusCode: status = 0, headers } = response;
    const body = status === 200 ? await readBody(response, options.maxBytes) : Buffer.alloc(0);
    return { status, headers, body };
  } catch (error) {
    if (error instanceof GitHostError) throw error;
    if (signal.aborted) throw new GitHostError('timeout', `no response within ${options.deadlineMs} ms`);
    throw connectionError(error);
  } finally {
    response?.destroy();
  }
}

/** The error of a response; null: success. */
export function gitHostErrorOf({ status, headers }: HttpsAnswer): GitHostError | null {
  if (status === 200) return null;
  // GitHub also reports rate limits with 403.
  if (status === 429 || (status === 403 && headers['x-ratelimit-remaining'] === '0')) {
    return new GitHostError('limited', 'it has reached its request limit for this token');
  }
  if (status === 401 || status === 403) {
    return new GitHostError('refused', `it rejected the token (status ${status})`);
  }
  if (status >= 300 && status < 400)
    return new GitHostError('unavailable', 'it responds with a redirect, which is not followed');
  return new GitHostError('unavailable', `it responded with status ${status}`);
}
