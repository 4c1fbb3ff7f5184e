import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { cookieSettings } from '../../../domain/access/session-cookie.ts';
import { isExpired } from '../../../domain/core/api-key.ts';
import type { Transaction } from '../../store/core/database.ts';
import { appendEvents } from '../../store/core/events.ts';
import { createSession, endSession, endSessionsOf, type SessionOwner } from '../../store/tenancy/sessions.ts';
import { ApiError } from '../core/errors.ts';
import { noQuery } from '../core/query.ts';
import { UNOBSERVED } from '../observe/observer.ts';
import { openErrorAnswers } from '../openapi/error-schema.ts';
import type { KeyFinder } from '../tenancy/api-key-cache.ts';
import { actorOfPrincipal, type KeyPrincipal } from '../tenancy/principal.ts';
import { clearSessionCookie, requireCookies, setSessionCookie } from './session-cookies.ts';
import { SESSION_TIMES, type Session } from './session-finder.ts';
import { presentSession, sessionSchema } from './session-response.ts';
import { findSignedIn, requireSignedIn, type SignInRoutes } from './signed-in.ts';

/** Sessions: sign in with an API key, read the own session, sign out. */

const PUBLIC = { access: 'public' } as const;
/** Maximum size of a body of these routes, in bytes. Callers are not authenticated when it is read. */
const BODY_LIMIT = 4096;
const MAX_KEY_LENGTH = 512;

const keySchema = z
  .strictObject({
    api_key: z.string().min(1).max(MAX_KEY_LENGTH).describe('The API key. The response does not contain it.'),
  })
  .meta({ id: 'CreateKeySession', description: 'The API key to sign in with.' });

const methodsSchema = z
  .object({
    identity_provider: z
      .object({ issuer: z.string().describe('Issuer of the tokens.') })
      .nullable()
      .meta({
        id: 'SignInProvider',
        description:
          'People sign in at this identity provider (GET /v2/auth/sign-in). null: none is configured.',
      }),
    api_key: z.boolean().describe('Whether an API key can be exchanged for a session.'),
  })
  .meta({ id: 'SignInMethods', description: 'How browsers can sign in.' });

const signOutSchema = z
  .strictObject({
    everywhere: z
      .boolean()
      .default(false)
      .describe('true: end all sessions of this person or API key, in all browsers.'),
  })
  .meta({ id: 'SignOut', description: 'Which sessions end.' });

/** A request without a body has the body null. */
const signOutBody = z.preprocess((body) => body ?? undefined, signOutSchema.optional()).optional();

const ownerOf = (session: Session): SessionOwner =>
  session.kind === 'person_session' ? { personId: session.person.id } : { apiKeyId: session.key.keyId ?? '' };

/** The tenant whose history has the events of a session; null: the platform. */
const tenantOfSession = (session: Session) =>
  session.kind === 'key_session' ? session.key.keyTenantId : null;

async function signOut(transaction: Transaction, session: Session, everywhere: boolean): Promise<void> {
  const ended = everywhere ? await endSessionsOf(transaction, ownerOf(session)) : 1;
  if (!everywhere) await endSession(transaction, session.sessionId);
  const actor = actorOfPrincipal(session);
  await appendEvents(transaction, [
    {
      tenantId: tenantOfSession(session),
      actor,
      reason: 'SignedOut',
      message: `${actor.name} signed out${everywhere ? ' in all browsers' : ''}.`,
      details: { session_id: session.sessionId, sessions: ended },
    },
  ]);
}

/** @throws ApiError 401, 403, 429 */
async function exchangeKey(
  routes: SignInRoutes & { readonly findKey: KeyFinder },
  request: FastifyRequest,
  reply: FastifyReply,
  given: string,
): Promise<Session> {
  const { deps, limiter, sessions, findKey } = routes;
  const { clock = () => new Date(), observer = UNOBSERVED, database, logger } = deps;
  const settings = requireCookies(deps.publicUrl);
  const former = await findSignedIn(routes, request);
  const key = await findKey(given);
  // The key of the listener in the same process is not stored, so no session can end with it.
  if (key === null || key.keyId === null || isExpired(key.expiresAt, clock())) {
    observer.signedIn('api_key', 'invalid');
    limiter.failure(request);
    // After the limit, so that a caller without a credential cannot fill the log.
    logger.warn(
      { requestId: request.id },
      'failed to sign in with an API key, because it is not valid; next: none, the caller needs a valid key',
    );
    throw new ApiError(401, 'The API key is not valid.');
  }
  limiter.call(key.keyId, false);
  const { maxSeconds } = deps.signIn ?? SESSION_TIMES;
  const { id, secret } = await database.platform.transaction(async (transaction) => {
    if (former !== null) await endSession(transaction, former.sessionId);
    return storeKeySession(transaction, { ...key, keyId: key.keyId ?? '' }, maxSeconds);
  });
  const session = await sessions.byId(id);
  if (session === null) throw new ApiError(401, 'The API key is not valid.');
  observer.signedIn('api_key', 'signed_in');
  logger.info(
    { requestId: request.id, keyId: key.keyId, sessionId: id },
    'an API key was exchanged for a session',
  );
  setSessionCookie(reply, settings, secret);
  return session;
}

async function storeKeySession(
  transaction: Transaction,
  key: KeyPrincipal & { readonly keyId: string },
  seconds: number,
): Promise<{ id: string; secret: string }> {
  const owner = { apiKeyId: key.keyId };
  const session = await createSession(transaction, { owner, seconds, notAfter: key.expiresAt });
  await appendEvents(transaction, [
    {
      tenantId: key.keyTenantId,
      actor: actorOfPrincipal(key),
      reason: 'SignedIn',
      message: `The API key ${key.keyName} was exchanged for a session.`,
      details: { session_id: session.id },
    },
  ]);
  return session;
}

function reads(app: FastifyInstance, routes: SignInRoutes): void {
  const { deps } = routes;
  const typed = app.withTypeProvider<ZodTypeProvider>();

  typed.get(
    '/v2/auth/methods',
    {
      config: PUBLIC,
      schema: {
        tags: ['sign-in'],
        summary: 'Get the ways to sign in',
        description: 'Returns how browsers can sign in to this installation.\n\nScope: none.',
        querystring: noQuery,
        response: { 200: methodsSchema, ...openErrorAnswers(422) },
      },
    },
    async () => {
      const isPossible = cookieSettings(deps.publicUrl) !== null;
      const provider = isPossible ? deps.signIn?.provider : null;
      return {
        identity_provider: provider == null ? null : { issuer: provider.issuer },
        api_key: isPossible,
      };
    },
  );

  typed.get(
    '/v2/auth/session',
    {
      config: PUBLIC,
      schema: {
        tags: ['sign-in'],
        summary: 'Get the own session',
        description:
          'Returns who is signed in, with the tenants and roles. To act in one of several tenants, name it in X-Tenant-Id.\n\nScope: none. The request needs a session.',
        security: [{ session: [] }],
        querystring: noQuery,
        response: { 200: sessionSchema, ...openErrorAnswers(401, 403, 422, 429, 503) },
      },
    },
    async (request) => presentSession(deps, await requireSignedIn(routes, request)),
  );
}

function changes(app: FastifyInstance, routes: SignInRoutes & { readonly findKey: KeyFinder }): void {
  const { deps } = routes;
  const typed = app.withTypeProvider<ZodTypeProvider>();

  typed.post(
    '/v2/auth/key-session',
    {
      config: PUBLIC,
      bodyLimit: BODY_LIMIT,
      schema: {
        tags: ['sign-in'],
        summary: 'Sign in with an API key',
        description:
          'Exchanges an API key for a session, which ends with the key. The response sets the cookie of the session. A page of another origin gets 403.\n\nScope: none.',
        querystring: noQuery,
        body: keySchema,
        response: { 201: sessionSchema, ...openErrorAnswers(401, 403, 413, 415, 422, 429, 503) },
      },
    },
    async (request, reply) => {
      const session = await exchangeKey(routes, request, reply, request.body.api_key);
      return reply.code(201).send(await presentSession(deps, session));
    },
  );

  typed.post(
    '/v2/auth/sign-out',
    {
      config: PUBLIC,
      bodyLimit: BODY_LIMIT,
      schema: {
        tags: ['sign-in'],
        summary: 'Sign out',
        description:
          'Ends the session in every process, and removes its cookie. Open streams of the session end within five seconds. Without a valid session, nothing changes.\n\nScope: none.',
        security: [{ session: [] }],
        querystring: noQuery,
        body: signOutBody,
        response: {
          204: z.null().describe('Signed out.'),
          ...openErrorAnswers(403, 413, 415, 422, 503),
        },
      },
    },
    async (request, reply) => {
      const session = await findSignedIn(routes, request);
      const everywhere = request.body?.everywhere ?? false;
      if (session !== null)
        await deps.database.platform.transaction((transaction) => signOut(transaction, session, everywhere));
      clearSessionCookie(reply, requireCookies(deps.publicUrl));
      return reply.code(204).send(null);
    },
  );
}

/** `/v2/auth/methods`, `/v2/auth/session`, `/v2/auth/key-session` and `/v2/auth/sign-out`. */
export function sessionRoutes(
  app: FastifyInstance,
  routes: SignInRoutes & { readonly findKey: KeyFinder },
): void {
  reads(app, routes);
  changes(app, routes);
}
