import { GitHostError } from '../../domain/builds/git-host.ts';
import { callHost, type HostCall, type HostResponse } from '../../outbound/call-host.ts';
import { callFailure, responseFailure } from './failures.ts';

/** Calls of git hosts over https. */

export interface HttpsOptions {
  /** Private and loopback addresses may be called. */
  readonly allowPrivate: boolean;
  /** Timeout of the whole operation, in milliseconds. */
  readonly deadlineMs: number;
  /** Largest response, in bytes. */
  readonly maxBytes: number;
  /** PEM of the certificate authority that replaces Node's own. */
  readonly ca?: string | undefined;
}

/**
 * Sends a call and returns responses of any status. Only the body of a successful one is read.
 * @param signal aborts it at the deadline of the whole operation
 * @throws GitHostError
 */
export async function callHttps(
  url: URL,
  call: Pick<HostCall, 'method' | 'headers' | 'body'>,
  options: HttpsOptions,
  signal: AbortSignal,
): Promise<HostResponse> {
  const { allowPrivate, maxBytes, ca } = options;
  const limits = { addresses: { allowPrivate }, maxBytes, readsBody: (status: number) => status === 200, ca };
  try {
    return await callHost(url, { ...call, ...limits }, signal);
  } catch (error) {
    throw callFailure(error, options);
  }
}

function parse(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    throw new GitHostError('unreadable', 'its response is not JSON');
  }
}

/** Reads the JSON of a URL. @throws GitHostError */
export async function getJson(url: URL, token: string, options: HttpsOptions): Promise<unknown> {
  const headers = { authorization: `Bearer ${token}`, accept: 'application/json' };
  const signal = AbortSignal.timeout(options.deadlineMs);
  const response = await callHttps(url, { method: 'GET', headers }, options, signal);
  const failure = responseFailure(response);
  if (failure !== null) throw failure;
  return parse(response.body.toString('utf8'));
}
