import type { FastifyRequest } from 'fastify';
import { isForged } from '../../../domain/access/session-cookie.ts';
import { SESSION_ENDED } from '../core/auth.ts';
import type { ApiDeps } from '../core/deps.ts';
import { ApiError } from '../core/errors.ts';
import type { RateLimiter } from '../core/rate-limit.ts';
import { foreignOrigin, requireCookies, sessionSecretOf } from './session-cookies.ts';
import type { Session, SessionFinder } from './session-finder.ts';

/** Authenticates the routes below `/v2/auth`, which need a session but no role. */

/** What the routes of sign-in share. */
export interface SignInRoutes {
  readonly deps: ApiDeps;
  readonly limiter: RateLimiter;
  readonly sessions: SessionFinder;
}

/**
 * The session of a request, or null if its cookie is missing or not valid.
 * @throws ApiError 403 for a change that comes from a page of another origin, and when sign-in is not possible
 */
export async function findSignedIn(
  { deps, sessions }: SignInRoutes,
  request: FastifyRequest,
): Promise<Session | null> {
  const settings = requireCookies(deps.publicUrl);
  // Without a cookie, too: another page must not sign a browser in.
  if (isForged(request.method, request.headers.origin, settings)) throw foreignOrigin(settings);
  const secret = sessionSecretOf(request, settings);
  return secret === null ? null : sessions.bySecret(secret);
}

/** The session of a request. @throws ApiError 401, 403, 429 */
export async function requireSignedIn(routes: SignInRoutes, request: FastifyRequest): Promise<Session> {
  const session = await findSignedIn(routes, request);
  if (session !== null) return session;
  routes.limiter.failure(request);
  throw new ApiError(401, SESSION_ENDED);
}
