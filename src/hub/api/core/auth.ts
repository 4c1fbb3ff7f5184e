import type { FastifyReply, FastifyRequest } from 'fastify';
import { isExpired } from '../../../domain/core/api-key.ts';
import { UUID_PATTERN } from '../../../domain/core/id.ts';
import type { Database } from '../../store/core/database.ts';
import type { Actor } from '../../store/core/events.ts';
import type { Scope } from '../../store/tenancy/api-keys.ts';
import { findTenant } from '../../store/tenancy/tenants.ts';
import { type Key, keyFinder } from '../tenancy/api-key-cache.ts';
import type { ApiDeps } from './deps.ts';
import { ApiError, notFound, wrongShape } from './errors.ts';
import type { Limiter } from './rate-limit.ts';

/** Who calls, for which tenant, and whether the route is open to them. */

/** Who may call a route: declared beside it, in its `config`. */
export type Access =
  | 'public'
  | {
      /** A key needs one of these. */
      readonly scopes: readonly Scope[];
      /** `any`: the route is not a tenant's; keys of the platform need not name one. */
      readonly tenant?: 'any';
    };

declare module 'fastify' {
  interface FastifyContextConfig {
    access?: Access;
  }
  interface FastifyRequest {
    /** null: on a public route, or not let in. */
    caller: Caller | null;
  }
}

/** The authenticated caller of a request. */
export interface Caller extends Key {
  /** The tenant on whose behalf this request is made; null: none was named with a key of the platform. */
  readonly tenantId: string | null;
}

const MAX_KEY_LENGTH = 512;

/** The caller of a request on a route that is not public. */
export function callerOf({ caller }: FastifyRequest): Caller {
  if (caller === null) throw new Error('failed to tell the caller: the route is public');
  return caller;
}

/** The tenant on whose behalf the request is made. */
export function tenantOf(request: FastifyRequest): string {
  const { tenantId } = callerOf(request);
  if (tenantId === null) throw new Error('failed to tell the tenant: the route is open to keys without one');
  return tenantId;
}

/** The caller as history names them. */
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

/** The tenant that an admin names. Whether another one exists is not told to anybody else. */
async function otherTenant(database: Database, named: string, key: Key): Promise<string> {
  if (!key.scopes.includes('admin')) throw notFound('tenant');
  const tenant = await database.platform.read((reader) => findTenant(reader, named));
  if (tenant === null) throw notFound('tenant');
  return tenant.id;
}

/** 422: a key of the platform must name the tenant here. */
export function tenantMissing(): ApiError {
  const msg = 'is required: the API key belongs to no tenant';
  return wrongShape([{ loc: ['header', 'X-Tenant-Id'], msg, type: 'missing' }]);
}

/** A call of the listener protocol, which nobody else makes. */
const isListeners = ({ scopes }: Exclude<Access, 'public'>) =>
  scopes.includes('listeners:run') && !scopes.includes('deployments:read');

type KeyedAccess = Exclude<Access, 'public'>;

/** Lets a request in whose key may be there. A promise only where the tenant has to be looked up. */
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
 * The hook that lets a request pass or not; it runs before the body is read. Only what has to be looked up makes it wait:
 * a promise of its own would cost every request.
 */
export function authenticate(deps: ApiDeps, limiter: Limiter) {
  const findKey = keyFinder(deps);
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
    // A key that is remembered may have ended since.
    if (key === null || isExpired(key.expiresAt, clock())) return fail(request, 'The API key is not valid.');
    limiter.call(key.keyId, access !== undefined && isListeners(access));
    if (access === undefined || !access.scopes.some((scope) => key.scopes.includes(scope))) {
      const needed = access?.scopes.join(' or ') ?? 'none that exists';
      throw new ApiError(403, `The API key lacks the scope ${needed}.`);
    }
    return admit(deps, request, access, key);
  };
  /** fastify waits for the promise that a hook answers, or for `done`. */
  return (request: FastifyRequest, _reply: FastifyReply, done: () => void): void | Promise<void> => {
    const { access } = request.routeOptions.config;
    if (request.is404 || access === 'public') return done();
    const given = header(request, 'x-api-key');
    if (given === null || given.length > MAX_KEY_LENGTH) {
      return fail(request, 'An API key is needed, in the header X-Api-Key.');
    }
    // Looked up first, whatever the address has done: its failures never shut out a valid key.
    const key = findKey(given);
    const waiting =
      key instanceof Promise
        ? key.then((found) => judge(request, access, found))
        : judge(request, access, key);
    return waiting === undefined ? done() : waiting;
  };
}
