import type { FastifyReply, FastifyRequest } from 'fastify';
import { isExpired } from '../../../domain/core/api-key.ts';
import { UUID_PATTERN } from '../../../domain/core/id.ts';
import type { Database } from '../../store/core/database.ts';
import type { Actor } from '../../store/core/events.ts';
import type { Scope } from '../../store/tenancy/api-keys.ts';
import { findTenant } from '../../store/tenancy/tenants.ts';
import { AUTHENTICATION, type Key, type KeyFinder, keyFinder } from '../tenancy/api-key-cache.ts';
import type { ApiDeps } from './deps.ts';
import { ApiError, notFound, wrongShape } from './errors.ts';
import type { RateLimiter } from './rate-limit.ts';

/** Authenticates the caller, resolves the tenant and authorizes the route. */

/** Callers that may use a route. Each route declares this in its `config`. */
export type Access =
  | 'public'
  | {
      /** Scopes, of which the key needs at least one. */
      readonly scopes: readonly Scope[];
      /** `any`: the route does not belong to a tenant. Keys of the platform can omit the tenant. */
      readonly tenant?: 'any';
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
export interface Caller extends Key {
  /** The tenant of this request; null: a key of the platform did not name a tenant. */
  readonly tenantId: string | null;
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
  const { keyId, keyName } = callerOf(request);
  return keyId === null ? { kind: 'system', name: keyName } : { kind: 'api_key', id: keyId, name: keyName };
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

/**
 * The tenant that an admin names. For all other callers, the response does not reveal whether another tenant exists.
 */
async function otherTenant(database: Database, named: string, key: Key): Promise<string> {
  if (!key.scopes.includes('admin')) throw notFound('tenant');
  const tenant = await database.forPlatform(AUTHENTICATION).read((reader) => findTenant(reader, named));
  if (tenant === null) throw notFound('tenant');
  return tenant.id;
}

/** 422: a key of the platform must name the tenant on this route. */
export function tenantMissing(): ApiError {
  const msg = 'is required: the API key belongs to no tenant';
  return wrongShape([{ loc: ['header', 'X-Tenant-Id'], msg, type: 'missing' }]);
}

/** Authorizes a call of the listener protocol. */
const isListeners = ({ scopes }: Exclude<Access, 'public'>) =>
  scopes.includes('listeners:run') && !scopes.includes('deployments:read');

type KeyedAccess = Exclude<Access, 'public'>;

/** Authorizes a request with a valid key. Returns a promise only when the tenant must be looked up. */
function admit(deps: ApiDeps, request: FastifyRequest, access: KeyedAccess, key: Key): void | Promise<void> {
  const on = (tenantId: string | null): void => {
    if (tenantId === null && access.tenant !== 'any') throw tenantMissing();
    request.caller = { ...key, tenantId };
  };
  const named = namedTenant(request);
  if (named === null || named === key.keyTenantId) return on(key.keyTenantId);
  return otherTenant(deps.database, named, key).then(on);
}

/**
 * The authentication hook, which runs before the body is read. The hook waits only for lookups, because a promise in
 * each request costs time.
 */
export function authenticate(deps: ApiDeps, limiter: RateLimiter, findKey: KeyFinder = keyFinder(deps)) {
  const clock = deps.clock ?? (() => new Date());
  const fail = (request: FastifyRequest, detail: string): never => {
    limiter.failure(request);
    throw new ApiError(401, detail);
  };
  const judge = (
    request: FastifyRequest,
    access: KeyedAccess | undefined,
    key: Key | null,
  ): void | Promise<void> => {
    // A cached key may have expired since it was cached.
    if (key === null || isExpired(key.expiresAt, clock())) return fail(request, 'The API key is not valid.');
    limiter.call(key.keyId, access !== undefined && isListeners(access));
    if (access === undefined || !access.scopes.some((scope) => key.scopes.includes(scope))) {
      const needed = access?.scopes.join(' or ') ?? 'none that exists';
      throw new ApiError(403, `The API key lacks the scope ${needed}.`);
    }
    return admit(deps, request, access, key);
  };
  /** fastify waits for the promise that a hook returns, or for `done`. */
  return (request: FastifyRequest, _reply: FastifyReply, done: () => void): void | Promise<void> => {
    const { access } = request.routeOptions.config;
    if (request.is404 || access === 'public') return done();
    const given = header(request, 'x-api-key');
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
