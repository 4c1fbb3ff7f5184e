import { expect, test } from 'vitest';
import { failureOf } from '../../../../src/hub/identity/sign-in-failure.ts';

const withCode = (code: string, more: object = {}) =>
  Object.assign(new Error('text of the library'), { code, ...more });

test.each([
  [
    'a connection that failed',
    new TypeError('fetch failed', { cause: new Error('ECONNREFUSED') }),
    'unreachable',
  ],
  ['a timeout', withCode('OAUTH_TIMEOUT'), 'unreachable'],
  [
    'a server error',
    withCode('OAUTH_RESPONSE_IS_NOT_CONFORM', { cause: new Response(null, { status: 503 }) }),
    'unreachable',
  ],
  [
    'an unexpected answer',
    withCode('OAUTH_RESPONSE_IS_NOT_CONFORM', { cause: new Response(null, { status: 404 }) }),
    'invalid',
  ],
  [
    'a person who cancelled',
    withCode('OAUTH_AUTHORIZATION_RESPONSE_ERROR', { error: 'access_denied' }),
    'declined',
  ],
  ['a code that was used', withCode('OAUTH_RESPONSE_BODY_ERROR', { error: 'invalid_grant' }), 'stale'],
  ['a wrong client secret', withCode('OAUTH_RESPONSE_BODY_ERROR', { error: 'invalid_client' }), 'invalid'],
  ['a claim that differs', withCode('OAUTH_JWT_CLAIM_COMPARISON_FAILED'), 'invalid'],
  ['anything else', 'text', 'invalid'],
])('classifies %s', (_, error, failure) => {
  expect(failureOf(error).failure).toBe(failure);
});

test('repeats no text of the other side', () => {
  const error = withCode('OAUTH_AUTHORIZATION_RESPONSE_ERROR', {
    error: '<script>',
    error_description: 'secret',
  });
  expect(failureOf(error).message).toBe('an unknown error');
});
