import { SignInError, type SignInFailure } from '../../domain/access/identity-provider.ts';
import { isObject } from '../../domain/core/is-object.ts';

/** Errors of openid-client as failures of a sign-in. */

/** Error codes of the library for answers that did not come. */
const SILENT: ReadonlySet<string> = new Set(['OAUTH_TIMEOUT', 'OAUTH_ABORT']);
const NOT_CONFORM = 'OAUTH_RESPONSE_IS_NOT_CONFORM';
const DECLINED = 'OAUTH_AUTHORIZATION_RESPONSE_ERROR';
const REJECTED = 'OAUTH_RESPONSE_BODY_ERROR';

/** Errors of a response whose text comes from the other side, so that only a plain word is kept. */
function wordOf(value: unknown): string {
  return typeof value === 'string' && /^[a-z_]{1,40}$/.test(value) ? value : 'an unknown error';
}

const hasServerError = (cause: unknown) =>
  isObject(cause) && typeof cause['status'] === 'number' && cause['status'] >= 500;

function classify(error: Record<string, unknown>): SignInFailure {
  const { code, cause } = error;
  if (code === DECLINED) return 'declined';
  if (code === REJECTED) return error['error'] === 'invalid_grant' ? 'stale' : 'invalid';
  if (typeof code === 'string' && SILENT.has(code)) return 'unreachable';
  if (code === NOT_CONFORM) return hasServerError(cause) ? 'unreachable' : 'invalid';
  // fetch reports a connection that failed as a TypeError with the cause.
  return error instanceof TypeError && cause !== undefined ? 'unreachable' : 'invalid';
}

/** The cause that the library hides, without texts of tokens: the name of the check and the claim. */
function detailOf(error: Record<string, unknown>): string {
  const { code, cause } = error;
  if (code === DECLINED || code === REJECTED) return wordOf(error['error']);
  const inner = isObject(cause) ? cause : {};
  const deepest = isObject(inner['cause']) ? inner['cause'] : inner;
  const claim = typeof deepest['claim'] === 'string' ? ` (claim ${deepest['claim']})` : '';
  const reason = inner instanceof Error ? inner.message : String(error['message'] ?? 'unknown');
  return `${reason}${claim}`.slice(0, 300);
}

/** An error of the library as the failure of a sign-in. */
export function failureOf(error: unknown): SignInError {
  if (error instanceof SignInError) return error;
  if (!isObject(error)) return new SignInError('invalid', String(error));
  return new SignInError(classify(error), detailOf(error));
}
