import { GitHostError } from '../../domain/builds/git-host.ts';
import type { HostResponse } from '../../outbound/call-host.ts';
import { HostError } from '../../outbound/host-error.ts';

/** Errors of calls to git hosts. */

/**
 * The error of a call without a response.
 * @param error HostError, or the reason of an aborted signal
 * @param limits of the call, for the message
 */
export function callFailure(
  error: unknown,
  limits: { readonly deadlineMs: number; readonly maxBytes: number },
): GitHostError {
  if (!(error instanceof HostError))
    return new GitHostError('timeout', `no response within ${limits.deadlineMs} ms`);
  switch (error.failure) {
    case 'closed_address':
      return new GitHostError(
        'private_address',
        'it has a private address, and this installation does not call private addresses',
      );
    case 'too_large':
      return new GitHostError('unreadable', `its response is larger than ${limits.maxBytes} bytes`);
    default:
      return new GitHostError('unavailable', `it cannot be reached (${error.code})`);
  }
}

/** The error of a response; null: success. */
export function responseFailure({ status, headers }: HostResponse): GitHostError | null {
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
