import { randomBytes } from 'node:crypto';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { hasGrants } from '../../../domain/access/access-policy.ts';
import { SignInError, type SignInFailure } from '../../../domain/access/identity-provider.ts';
import { identityOf, type PersonIdentity } from '../../../domain/access/person-claims.ts';
import { type CookieSettings, returnPath } from '../../../domain/access/session-cookie.ts';
import { UniqueViolation } from '../../store/core/errors.ts';
import { appendEvents } from '../../store/core/events.ts';
import { recordPerson } from '../../store/tenancy/people.ts';
import { createSession, endSession } from '../../store/tenancy/sessions.ts';
import type { ApiDeps, SignInOptions } from '../core/deps.ts';
import { ApiError, noRoute, wrongShape } from '../core/errors.ts';
import { UNOBSERVED } from '../observe/observer.ts';
import { grantsOfPerson } from '../tenancy/person-grants.ts';
import {
  clearFlowCookie,
  flowOf,
  requireCookies,
  type SignInFlow,
  setFlowCookie,
  setSessionCookie,
} from './session-cookies.ts';
import type { Session } from './session-finder.ts';
import { sendPages } from './sign-in-page.ts';
import { findSignedIn, type SignInRoutes } from './signed-in.ts';
import { withoutRole } from './without-role.ts';

/**
 * Sign-in of people at the identity provider: `GET /v2/auth/sign-in` sends the browser there, and `GET /v2/auth/callback`
 * takes it back. The first only sets a cookie. The second creates the session, and accepts only the answer to a sign-in
 * that the same browser started (docs/decisions/0124).
 */

/** Path of the callback, below BERTH_PUBLIC_URL. */
export const CALLBACK_PATH = '/v2/auth/callback';

/** Kind of the failures that the limit of sign-ins counts. */
const SIGN_IN = 'sign-in';

const PUBLIC = { access: 'public' } as const;
const random = () => randomBytes(32).toString('base64url');

type Person = Required<Pick<SignInOptions, 'groupsClaim' | 'maxSeconds'>> & {
  readonly provider: NonNullable<SignInOptions['provider']>;
};

/** @throws ApiError 404 */
function requireProvider({ signIn }: ApiDeps): Person {
  if (signIn?.provider == null) throw noRoute();
  return { ...signIn, provider: signIn.provider };
}

const START_AGAIN = 'The sign-in has expired, or was started in another browser. Start again.';

/** The response to a sign-in that failed at the identity provider. */
const REFUSALS: Readonly<Record<SignInFailure, readonly [status: number, detail: string]>> = {
  unreachable: [503, 'The identity provider cannot be reached. Try again.'],
  declined: [403, 'The identity provider did not sign you in.'],
  stale: [400, START_AGAIN],
  invalid: [
    403,
    'The answer of the identity provider is not valid. Report the X-Request-Id of the response to the administrator of the platform.',
  ],
};
const RETRY_SECONDS = 5;

function refusalOf(failure: SignInFailure): ApiError {
  const [status, detail] = REFUSALS[failure];
  return new ApiError(status, detail, status === 503 ? { retryAfterSeconds: RETRY_SECONDS } : {});
}

/** Runs a step at the identity provider. The log has the cause, the response does not. @throws ApiError */
async function atProvider<T>(
  { deps }: SignInRoutes,
  request: FastifyRequest,
  step: () => Promise<T>,
): Promise<T> {
  const { logger, observer = UNOBSERVED } = deps;
  try {
    return await step();
  } catch (error) {
    if (!(error instanceof SignInError)) throw error;
    const { failure, message } = error;
    observer.signedIn('identity_provider', failure);
    const fields = { requestId: request.id, failure, err: message };
    logger.warn(
      fields,
      'failed to sign a person in at the identity provider; next: docs/runbooks/BerthSignInFailing.md',
    );
    throw refusalOf(failure);
  }
}

/** Stores the person and the session, and ends the session that the browser had before. */
async function signIn(
  { deps }: SignInRoutes,
  {
    identity,
    flow,
    former,
    maxSeconds,
  }: {
    readonly identity: PersonIdentity;
    readonly flow: SignInFlow;
    readonly former: Session | null;
    readonly maxSeconds: number;
  },
): Promise<{ secret: string; personId: string; sessionId: string }> {
  return deps.database.platform.transaction(async (transaction) => {
    const person = await recordPerson(transaction, identity);
    const owner = { personId: person.id };
    const { id, secret } = await createSession(transaction, {
      owner,
      seconds: maxSeconds,
      state: flow.state,
    });
    if (former !== null) await endSession(transaction, former.sessionId);
    await appendEvents(transaction, [
      {
        tenantId: null,
        actor: { kind: 'person', ...person },
        reason: 'SignedIn',
        message: `${person.name} signed in.`,
        details: { session_id: id, issuer: identity.issuer },
      },
    ]);
    return { secret, personId: person.id, sessionId: id };
  });
}

/** @throws ApiError 400 when the answer was used before */
function usedBefore(error: unknown): unknown {
  return error instanceof UniqueViolation && error.constraint === 'sessions_state_hash'
    ? new ApiError(400, START_AGAIN)
    : error;
}

async function callback(routes: SignInRoutes, request: FastifyRequest, reply: FastifyReply) {
  const { deps, limiter } = routes;
  const { logger, observer = UNOBSERVED, clock = () => new Date() } = deps;
  const { provider, groupsClaim, maxSeconds } = requireProvider(deps);
  const settings = requireCookies(deps.publicUrl);
  const flow = flowOf(request, { settings, box: deps.secretBox, now: clock() });
  clearFlowCookie(reply, settings);
  if (flow === null) {
    limiter.failure(request);
    observer.signedIn('identity_provider', 'stale');
    throw new ApiError(400, START_AGAIN);
  }
  // Only a browser that started a sign-in gets this far, so that other failures of its address do not block it.
  limiter.mayFail(request, SIGN_IN);
  const query = request.raw.url?.split('?', 2)[1] ?? '';
  const claims = await atProvider(routes, request, () => provider.redeem(query, flow)).catch((error) => {
    limiter.failure(request, SIGN_IN);
    throw error;
  });
  const identity = identityOf(claims, groupsClaim);
  const grants = await deps.database.platform.read((reader) => grantsOfPerson(deps, reader, identity));
  if (!hasGrants(grants)) throw await withoutRole(routes, request, identity);
  const former = await findSignedIn(routes, request);
  const made = await signIn(routes, { identity, flow, former, maxSeconds }).catch((error) => {
    throw usedBefore(error);
  });
  observer.signedIn('identity_provider', 'signed_in');
  const { personId, sessionId } = made;
  logger.info({ requestId: request.id, personId, person: identity.name, sessionId }, 'a person signed in');
  setSessionCookie(reply, settings, made.secret);
  return reply.redirect(`${settings.origin}${flow.returnTo}`, 303);
}

const startQuery = z.strictObject({
  return_to: z
    .string()
    .optional()
    .describe(
      'Path to which the browser returns, below the path of the public URL. Default: the first page.',
    ),
});

/** @throws ApiError 422 */
function returnToOf(given: string | undefined, settings: CookieSettings): string {
  const path = returnPath(given ?? `${settings.prefix}/`, settings);
  if (path !== null) return path;
  const msg = `must be a path on ${settings.origin}${settings.prefix}, such as ${settings.prefix}/`;
  throw wrongShape([{ loc: ['query', 'return_to'], msg, type: 'value_error' }]);
}

/**
 * `/v2/auth/sign-in` and `/v2/auth/callback`. Browsers open these addresses, and clients do not call them, so the OpenAPI
 * document does not list them.
 */
export function signInRoutes(app: FastifyInstance, routes: SignInRoutes): void {
  const { deps } = routes;
  const { clock = () => new Date() } = deps;
  const typed = app.withTypeProvider<ZodTypeProvider>();
  sendPages(app);

  typed.get(
    '/v2/auth/sign-in',
    { config: PUBLIC, exposeHeadRoute: false, schema: { hide: true, querystring: startQuery } },
    async (request, reply) => {
      const { provider } = requireProvider(deps);
      const settings = requireCookies(deps.publicUrl);
      const returnTo = returnToOf(request.query.return_to, settings);
      const flow = { state: random(), nonce: random(), verifier: random(), returnTo };
      const url = await atProvider(routes, request, () => provider.authorizationUrl(flow));
      setFlowCookie(reply, { settings, box: deps.secretBox, now: clock() }, flow);
      return reply.redirect(url, 303);
    },
  );

  typed.get(
    CALLBACK_PATH,
    { config: PUBLIC, exposeHeadRoute: false, schema: { hide: true } },
    (request, reply) => callback(routes, request, reply),
  );
}
