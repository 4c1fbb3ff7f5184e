import type { FastifyRequest } from 'fastify';
import { isDeviceCode } from '../../../domain/access/device-login.ts';
import { hashOfSecret } from '../../store/tenancy/sessions.ts';
import { type DevicePoll, pollDeviceLogin } from '../../store/tokens/device-logins.ts';
import type { ApiDeps } from '../core/deps.ts';
import { type ApiError, brokenRules } from '../core/errors.ts';
import type { RateLimiter } from '../core/rate-limit.ts';
import { UNOBSERVED } from '../observe/observer.ts';
import { SESSION_TIMES } from '../sign-in/session-finder.ts';
import type { IssuedToken } from './workload-exchange.ts';

/** Answers the polls of a device that waits for a person. */

/** Group of the database's work (`forPlatform`), so that authentication does not wait for polls, which need no credential. */
const POLLS = 'device polls';

type Refusal = Exclude<DevicePoll['kind'], 'granted'>;

/** The error of RFC 8628 and its message, by the state of the login. */
const REFUSALS: Readonly<Record<Refusal, readonly [type: string, msg: string]>> = {
  authorization_pending: ['authorization_pending', 'waits for a person to confirm the login'],
  slow_down: ['slow_down', 'is used too often: add 5 seconds to the interval'],
  access_denied: ['access_denied', 'belongs to a login that was denied'],
  expired_token: ['expired_token', 'has expired'],
  replayed: ['invalid_grant', 'was used before. The token that it created is revoked'],
  unknown: ['invalid_grant', 'is not known, or has expired'],
};

/** 400: the device gets no token, or not yet. */
function refusal(kind: Refusal): ApiError {
  const [type, msg] = REFUSALS[kind];
  return brokenRules([{ loc: ['device_code'], msg, type }]);
}

/** The token of an approved login. @throws ApiError 400 with the error of RFC 8628, 429 */
export async function redeemDeviceCode(
  { database, observer = UNOBSERVED, accessHints, signIn }: ApiDeps,
  limiter: RateLimiter,
  request: FastifyRequest,
  deviceCode: string,
): Promise<IssuedToken> {
  const { maxSeconds } = signIn ?? SESSION_TIMES;
  const isCode = isDeviceCode(deviceCode);
  // Before the database: anyone can start a login and poll it.
  if (isCode && limiter.isPolledTooOften(hashOfSecret(deviceCode))) throw refusal('slow_down');
  const poll: DevicePoll = isCode
    ? await database.forPlatform(POLLS).transaction((each) => pollDeviceLogin(each, deviceCode, maxSeconds))
    : { kind: 'unknown' };
  if (poll.kind === 'granted') {
    observer.deviceLogin('issued');
    return poll;
  }
  if (poll.kind === 'replayed') {
    observer.deviceLogin('replayed');
    accessHints?.notifyAll();
  }
  // Guessed codes are failed authentications of the address. Polls of a known login are not.
  if (poll.kind === 'unknown' || poll.kind === 'replayed') limiter.failure(request);
  throw refusal(poll.kind);
}
