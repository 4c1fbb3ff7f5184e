import { lookup as dnsLookup, type LookupAddress } from 'node:dns';
import type { IncomingMessage } from 'node:http';
import { type RequestOptions, request } from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import { GitHostError } from '../domain/git-host.ts';
import { isPublicAddress } from '../domain/https-url.ts';

/**
 * One GET of JSON over https, from a host that a tenant named: no redirect is followed, no private address is called
 * (the one that is connected to is the one that was checked), time and size are bounded.
 */

export interface HttpsJsonOptions {
  /** Private and loopback addresses may be called. */
  readonly allowPrivate: boolean;
  /** For the whole of a call, in milliseconds. */
  readonly deadlineMs: number;
  /** Largest answer, in bytes. */
  readonly maxBytes: number;
  /** PEM of the authority to trust in place of Node's own. */
  readonly ca?: string | undefined;
}

const privateAddress = () =>
  new GitHostError('private_address', 'it is at a private address, which this installation does not call');

/** As dns.lookup, but fails if one of the addresses is not public. */
const publicLookup: LookupFunction = (hostname, options, callback) => {
  dnsLookup(hostname, { ...options, all: true }, (error, addresses: LookupAddress[]) => {
    const [first] = addresses ?? [];
    if (error !== null || first === undefined) return callback(error ?? new Error('no address'), '', 0);
    if (!addresses.every(({ address }) => isPublicAddress(address))) return callback(privateAddress(), '', 0);
    if (options.all === true) return callback(null, addresses);
    return callback(null, first.address, first.family);
  });
};

/** A literal address is not looked up. */
function checkLiteral(hostname: string): void {
  const address = hostname.replace(/^\[|\]$/g, '');
  if (isIP(address) !== 0 && !isPublicAddress(address)) throw privateAddress();
}

function requestOptions(token: string, options: HttpsJsonOptions, signal: AbortSignal): RequestOptions {
  return {
    method: 'GET',
    headers: { authorization: `Bearer ${token}`, accept: 'application/json', 'user-agent': 'berth' },
    // No connection is kept: another call may be another tenant's, or the name may have moved.
    agent: false,
    signal,
    ...(options.allowPrivate ? {} : { lookup: publicLookup }),
    ...(options.ca === undefined ? {} : { ca: options.ca }),
  };
}

function open(url: URL, options: RequestOptions): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    request(url, options).on('response', resolve).on('error', reject).end();
  });
}

async function readBody(response: IncomingMessage, maxBytes: number): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > maxBytes) throw new GitHostError('unreadable', `its answer is larger than ${maxBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** What an answer's status means; null: it is a good one. */
function failureOf(status: number, headers: IncomingMessage['headers']): GitHostError | null {
  if (status === 200) return null;
  // GitHub tells of its limits with 403, too.
  if (status === 429 || (status === 403 && headers['x-ratelimit-remaining'] === '0')) {
    return new GitHostError('limited', 'it lets no more requests of this token pass for now');
  }
  if (status === 401 || status === 403) {
    return new GitHostError('refused', `it refused the token (status ${status})`);
  }
  if (status >= 300 && status < 400)
    return new GitHostError('unavailable', 'it redirects, which is not followed');
  return new GitHostError('unavailable', `it answered with status ${status}`);
}

function parse(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    throw new GitHostError('unreadable', 'its answer is no JSON');
  }
}

/** A code such as ECONNREFUSED is Node's own, so it may be told; a message may hold the host's words. */
function connectionError(error: unknown): GitHostError {
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'the connection failed';
  return new GitHostError('unavailable', `it cannot be reached (${code})`);
}

/**
 * The JSON at a URL.
 * @throws GitHostError
 */
export async function getJson(url: URL, token: string, options: HttpsJsonOptions): Promise<unknown> {
  if (!options.allowPrivate) checkLiteral(url.hostname);
  const signal = AbortSignal.timeout(options.deadlineMs);
  let response: IncomingMessage | undefined;
  try {
    response = await open(url, requestOptions(token, options, signal));
    const failure = failureOf(response.statusCode ?? 0, response.headers);
    if (failure !== null) throw failure;
    return parse(await readBody(response, options.maxBytes));
  } catch (error) {
    if (error instanceof GitHostError) throw error;
    if (signal.aborted) throw new GitHostError('timeout', `no answer within ${options.deadlineMs} ms`);
    throw connectionError(error);
  } finally {
    response?.destroy();
  }
}
