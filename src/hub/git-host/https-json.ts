import { GitHostError } from '../../domain/builds/git-host.ts';
import { callHost } from '../../outbound/call-host.ts';
import type { AddressRules } from '../../outbound/resolve-host.ts';
import { callFailure, responseFailure } from './failures.ts';

/** Calls of git hosts over https. */

export interface HttpsOptions {
  readonly addresses: AddressRules;
  /** Timeout of a call, in milliseconds. */
  readonly deadlineMs: number;
  /** Largest response, in bytes. */
  readonly maxBytes: number;
  /** PEM of the certificate authority that replaces Node's own. */
  readonly ca?: string | undefined;
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
  const { addresses, maxBytes, deadlineMs, ca } = options;
  const response = await callHost(
    url,
    {
      method: 'GET',
      headers: { authorization: `Bearer ${token}`, accept: 'application/json' },
      addresses,
      maxBytes,
      readsBody: (status) => status === 200,
      ca,
    },
    AbortSignal.timeout(deadlineMs),
  ).catch((error) => {
    throw callFailure(error, options);
  });
  const failure = responseFailure(response);
  if (failure !== null) throw failure;
  return parse(response.body.toString('utf8'));
}
