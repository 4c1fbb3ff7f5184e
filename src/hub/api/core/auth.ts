import type { FastifyReply, FastifyRequest } from 'fastify';
import { cookieSettings } from '../../../domain/access/session-cookie.ts';
import { isExpired } from '../../../domain/core/api-key.ts';
import { UUID_PATTERN } from '../../../domain/core/id.ts';
import type { Database } from '../../store/core/database.ts';
import type { Actor } from '../../store/core/events.ts';
import type { Scope } from '../../store/tenancy/api-keys.ts';
import { findTenant } from '../../store/tenancy/tenants.ts';
import { sessionSecretOf } from '../sign-in/session-cookies.ts';
import { type SessionFinder, sessionFinder } from '../sign-in/session-finder.ts';
import { AUTHENTICATION, type KeyFinder, keyFinder } from '../tenancy/api-key-cache.ts';
import {
  actorOfPrincipal,
  admissionOf,
  isSession,
  keyOf,
  limitIdOf,
  type Principal,
} from '../tenancy/principal.ts';
import { bearerOf, type TokenFinder, tokenFinder } from '../tokens/token-finder.ts';
import type { ApiDeps } from './deps.ts';
import { ApiError, notFound, wrongShape } from './errors.ts';
import type { RateLimiter } from './rate-limit.ts';

/** Authenticates the caller, resolves the tenant and authorizes the route. */

/** Callers that may use a route. Each route declares this in its `config`. */
export type Access =
  | 'public'
  | {
      /** Scopes, of which the caller needs at least one. */
      readonly scopes: readonly Scope[];
      /** `any`: the route does not belong to a tenant. Keys of the platform can omit the tenant. */
      readonly tenant?: 'any';
      /** A person without a role in any tenant may use the route, too. */
      readonly withoutRoles?: true;
    };

declare module 'fastify' {
  interface FastifyContextConfig {
    access?: Access;
  }
  interface FastifyRequest {
    /** null on a public route, or before authentication. */
    caller: Caller | null;
  }
}

/** The authenticated caller of a request. */
export interface Caller {
  readonly principal: Principal;
  /** The tenant of this request; null: a caller of the platform did not name a tenant. */
  readonly tenantId: string | null;
  /** What the caller may do in this tenant. */
  readonly scopes: readonly Scope[];
}

const MAX_KEY_LENGTH = 512;

/** Returns the caller of a request. The route must not be public. */
export function callerOf({ caller }: FastifyRequest): Caller {
  if (caller === null) throw new Error('failed to identify the caller: the route is public');
  return caller;
}

/** The tenant of the request. */
export function tenantOf(request: FastifyRequest): string {
  const { tenantId } = callerOf(request);
  if (tenantId === null)
    throw new Error('failed to identify the tenant: the route accepts keys without a tenant');
  return tenantId;
}

/** The caller, in the form that the history stores. */
export function actorOf(request: FastifyRequest): Actor {
  return actorOfPrincipal(callerOf(request).principal);
}

function header(request: FastifyRequest, name: string): string | null {
  const value = request.headers[name];
  return typeof value === 'string' && value !== '' ? value : null;
}

function namedTenant(request: FastifyRequest): string | null {
  const value = request.headers['x-tenant-id'];
  if (value === undefined) return null;
  if (typeof value !== 'string' || !UUID_PATTERN.test(value)) {
    throw wrongShape([{ loc: ['header', 'X-Tenant-Id'], msg: 'must be a UUID', type: 'invalid_format' }]);
  }
  return value.toLowerCase();
}

/** The tenant that an admin names. @throws ApiError 404 */
async function existingTenant(database: Database, named: string): Promise<string> {
  const tenant = await database.forPlatform(AUTHENTICATION).read((reader) => findTenant(reader, named));
  if (tenant === null) throw notFound('tenant');
  return tenant.id;
}

/** 422: the request must name the tenant on this route. */
export function tenantMissing(msg = 'is required: the API key belongs to no tenant'): ApiError {
  return wrongShape([{ loc: ['header', 'X-Tenant-Id'], msg, type: 'missing' }]);
}

/** Authorizes a call of the listener protocol. */
const isListeners = ({ scopes }: Exclude<Access, 'public'>) =>
  scopes.includes('listeners:run') && !scopes.includes('deployments:read');

type KeyedAccess = Exclude<Access, 'public'>;

/** @throws ApiError 403 */
function requireScope(access: KeyedAccess | undefined, scopes: readonly Scope[], who: string): void {
  if (access?.scopes.some((scope) => scopes.includes(scope))) return;
  throw new ApiError(403, `${who} the scope ${access?.scopes.join(' or ') ?? 'none that exists'}.`);
}

const KEY_INVALID = 'The API key is not valid.';
/** The session has ended: the person signed out, or the session was idle for too long. */
export const SESSION_ENDED = 'The session has ended. Sign in again.';
/** The token was revoked, has expired or never existed, or its rule is no longer in the policy. */
export const TOKEN_INVALID = 'The access token is not valid. Log in again.';
const KEY_LACKS = 'The API key lacks';
const ROLES_LACK = 'Your roles in this tenant do not include';
const NO_ROLE =
  'You have no role. Ask the administrator of the platform to give a role to one of your groups (access.groups of the policy).';
const SEVERAL_TENANTS = 'is required: you have roles in several tenants';

/** Authorizes a request of a known caller. Returns a promise only when the tenant must be looked up. */
function admit(
  { database }: ApiDeps,
  request: FastifyRequest,
  access: KeyedAccess,
  principal: Principal,
): void | Promise<void> {
  const key = keyOf(principal);
  const admission = admissionOf(principal, namedTenant(request));
  const on = (tenantId: string | null, scopes: readonly Scope[]): void => {
    if (tenantId === null && access.tenant !== 'any')
      throw key === null
        ? tenantMissing('is required: a role of the platform belongs to no tenant')
        : tenantMissing();
    // The scopes of a key are the same in all tenants, and were checked before.
    if (key === null) requireScope(access, scopes, ROLES_LACK);
    request.caller = { principal, tenantId, scopes };
  };
  switch (admission.kind) {
    case 'admitted':
      return on(admission.tenantId, admission.scopes);
    case 'lookup':
      return existingTenant(database, admission.tenantId).then((id) => on(id, admission.scopes));
    case 'unnamed':
      throw tenantMissing(SEVERAL_TENANTS);
    case 'without_roles':
      if (access.withoutRoles !== true) throw new ApiError(403, NO_ROLE);
      request.caller = { principal, tenantId: null, scopes: [] };
      return;
    // The response does not reveal whether another tenant exists.
    case 'unknown':
      throw notFound('tenant');
  }
}

/** Finds the callers of credentials. */
export interface CredentialFinders {
  readonly findKey: KeyFinder;
  readonly sessions: SessionFinder;
  readonly tokens: TokenFinder;
}

/**
 * The authentication hook, which runs before the body is read. The hook waits only for lookups, because a promise in
 * each request costs time.
 */
export function authenticate(
  deps: ApiDeps,
  limiter: RateLimiter,
  {
    findKey = keyFinder(deps),
    sessions = sessionFinder(deps),
    tokens = tokenFinder(deps),
  }: Partial<CredentialFinders> = {},
) {
  const clock = deps.clock ?? (() => new Date());
  const cookies = cookieSettings(deps.publicUrl);
  const fail = (request: FastifyRequest, detail: string): never => {
    limiter.failure(request);
    throw new ApiError(401, detail);
  };
  const judge = (
    request: FastifyRequest,
    access: KeyedAccess | undefined,
    principal: Principal | null,
  ): void | Promise<void> => {
    // A cached key may have expired since it was cached.
    if (principal === null || isExpired(principal.expiresAt, clock()))
      return fail(request, principal?.kind === 'api_key' || principal === null ? KEY_INVALID : SESSION_ENDED);
    const key = keyOf(principal);
    limiter.call(
      limitIdOf(principal),
      access !== undefined && isListeners(access),
      key === null ? 'You have' : undefined,
    );
    if (key !== null || access === undefined) requireScope(access, key?.scopes ?? [], KEY_LACKS);
    return access === undefined ? undefined : admit(deps, request, access, principal);
  };
  const bySession = async (
    request: FastifyRequest,
    access: KeyedAccess | undefined,
    secret: string,
  ): Promise<void> => {
    const session = await sessions.bySecret(secret);
    return session === null ? fail(request, SESSION_ENDED) : judge(request, access, session);
  };
  const byToken = async (
    request: FastifyRequest,
    access: KeyedAccess | undefined,
    token: string,
  ): Promise<void> => {
    const principal = await tokens.bySecret(token);
    return principal === null ? fail(request, TOKEN_INVALID) : judge(request, access, principal);
  };
  /** A token that a client states comes before a cookie that a browser adds. null: the request has neither. */
  const byOther = (request: FastifyRequest, access: KeyedAccess | undefined): Promise<void> | null => {
    const token = bearerOf(request);
    if (token !== null) return byToken(request, access, token);
    const secret = cookies === null ? null : sessionSecretOf(request, cookies);
    return secret === null ? null : bySession(request, access, secret);
  };
  /** fastify waits for the promise that a hook returns, or for `done`. */
  return (request: FastifyRequest, _reply: FastifyReply, done: () => void): void | Promise<void> => {
    const { access } = request.routeOptions.config;
    if (request.is404 || access === 'public') return done();
    const given = header(request, 'x-api-key');
    const other = given === null ? byOther(request, access) : null;
    if (other !== null) return other;
    if (given === null || given.length > MAX_KEY_LENGTH) {
      return fail(request, 'The request needs an API key in the header X-Api-Key.');
    }
    // The key is looked up before the failures of the address are checked, so that failures never lock out a valid key.
    const key = findKey(given);
    const waiting =
      key instanceof Promise
        ? key.then((found) => judge(request, access, found))
        : judge(request, access, key);
    return waiting === undefined ? done() : waiting;
  };
}

/** Checks again that the session or the token of a request is valid and has all its roles. @throws ApiError 401 */
export type Recheck = (request: FastifyRequest) => Promise<void>;

export function recheckWith(isAllowed: (request: FastifyRequest) => Promise<boolean>): Recheck {
  return async (request) => {
    const { principal } = callerOf(request);
    if (principal.kind === 'api_key' || (await isAllowed(request))) return;
    throw new ApiError(401, isSession(principal) ? SESSION_ENDED : TOKEN_INVALID);
  };
}

/**
 * A hook before the handlers of changes: a session or a token can end, or lose a role, while the body of a request arrives. The
 * handlers themselves run in one transaction and take milliseconds. A handler that reads its body itself checks again.
 */
export function recheckSessions(recheck: Recheck) {
  return (request: FastifyRequest, _reply: FastifyReply, done: () => void): void | Promise<void> => {
    const { caller, method } = request;
    const isRead = method === 'GET' || method === 'HEAD';
    return caller === null || caller.principal.kind === 'api_key' || isRead ? done() : recheck(request);
  };
}
