import { timingSafeEqual } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { isExpired } from '../domain/api-key.ts';
import { UUID_PATTERN } from '../domain/id.ts';
import {
  findApiKeyByHash,
  findKeysOfOtherForm,
  hashApiKey,
  isGeneratedKey,
  type Scope,
  touchApiKey,
} from '../store/api-keys.ts';
import type { Database } from '../store/database.ts';
import type { Actor } from '../store/events.ts';
import { findTenant } from '../store/tenants.ts';
import type { ApiDeps, InternalKey } from './deps.ts';
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
}

/** The authenticated caller of a request. */
export interface Caller {
  readonly keyId: string | null;
  readonly keyName: string;
  readonly scopes: readonly Scope[];
  /** The key stops working then; null: never. */
  readonly expiresAt: Date | null;
  /** Whose key it is; null: the platform's. */
  readonly keyTenantId: string | null;
  /** The tenant on whose behalf this request is made; null: none was named with a key of the platform. */
  readonly tenantId: string | null;
}

type Key = Omit<Caller, 'tenantId'>;

/** A revoked key works this much longer, in each process. */
const CACHE_TTL_MS = 5_000;
const MAX_CACHED_KEYS = 10_000;
/** A key that was not there is not looked up again for so long. */
const UNKNOWN_TTL_MS = 1_000;
const MAX_UNKNOWN_KEYS = 10_000;
const MAX_KEY_LENGTH = 512;

const callers = new WeakMap<FastifyRequest, Caller>();

/** The caller of a request; null: on a public route, or not let in. */
export function knownCaller(request: FastifyRequest): Caller | null {
  return callers.get(request) ?? null;
}

/** The caller of a request on a route that is not public. */
export function callerOf(request: FastifyRequest): Caller {
  const caller = knownCaller(request);
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

function sameHash(left: string, right: string): boolean {
  const [a, b] = [Buffer.from(left, 'hex'), Buffer.from(right, 'hex')];
  return a.length === b.length && timingSafeEqual(a, b);
}

function internal(key: InternalKey | null | undefined, hash: string): Key | null {
  if (key == null || !sameHash(key.hash, hash)) return null;
  return { keyId: null, keyName: 'internal', scopes: key.scopes, keyTenantId: null, expiresAt: null };
}

async function loadKey(database: Database, hash: string): Promise<Key | null> {
  const found = await database.platform.read((reader) => findApiKeyByHash(reader, hash));
  if (found === null) return null;
  // Noted at most once an hour; a failure of that is no reason to refuse the caller.
  await database.platform
    .transaction((transaction) => touchApiKey(transaction, found.id))
    .catch(() => undefined);
  const { id, name, scopes, tenantId, expiresAt } = found;
  return { keyId: id, keyName: name, scopes, keyTenantId: tenantId, expiresAt };
}

/** Whether a key may exist at all: those of another form than we generate are few, and read together now and then. */
function formCheck({ database }: ApiDeps): (given: string, hash: string) => Promise<boolean> {
  let others = Promise.resolve<ReadonlySet<string>>(new Set());
  let until = 0;
  return async (given, hash) => {
    if (isGeneratedKey(given)) return true;
    const now = performance.now();
    if (until <= now) {
      until = now + CACHE_TTL_MS;
      others = database.platform.read(findKeysOfOtherForm);
      others.catch(() => {
        until = 0;
      });
    }
    return (await others).has(hash);
  };
}

/** Looks keys up by their hash (so by no prefix of theirs that could be guessed step by step), remembered for a moment. */
function keyFinder(deps: ApiDeps): (given: string) => Promise<Key | null> {
  const { database, internalKey } = deps;
  const cache = new Map<string, { readonly key: Promise<Key | null>; readonly until: number }>();
  /** Keys that do not exist, until when that is believed. Apart from those that do: guesses push none of them out. */
  const unknown = new Map<string, number>();
  const mayExist = formCheck(deps);
  return async (given) => {
    const hash = hashApiKey(given);
    const own = internal(internalKey, hash);
    if (own !== null) return own;
    const now = performance.now();
    const cached = cache.get(hash);
    if (cached !== undefined && cached.until > now) return cached.key;
    if ((unknown.get(hash) ?? 0) > now || !(await mayExist(given, hash))) return null;
    const key = loadKey(database, hash);
    if (cache.size >= MAX_CACHED_KEYS) cache.clear();
    cache.set(hash, { key, until: now + CACHE_TTL_MS });
    key.then(
      (found) => {
        if (found !== null) return;
        cache.delete(hash);
        if (unknown.size >= MAX_UNKNOWN_KEYS) unknown.clear();
        unknown.set(hash, now + UNKNOWN_TTL_MS);
      },
      () => cache.delete(hash),
    );
    return key;
  };
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

/** A key's own tenant, or the one that an admin names. */
async function tenantFor(database: Database, request: FastifyRequest, key: Key): Promise<string | null> {
  const named = namedTenant(request);
  if (named === null || named === key.keyTenantId) return key.keyTenantId;
  // Whether the other one exists is not told.
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

/** The hook that lets a request pass or not; it runs before the body is read. */
export function authenticate(deps: ApiDeps, limiter: Limiter) {
  const findKey = keyFinder(deps);
  const clock = deps.clock ?? (() => new Date());
  const fail = (request: FastifyRequest, detail: string): never => {
    limiter.failure(request);
    throw new ApiError(401, detail);
  };
  return async (request: FastifyRequest, _reply: FastifyReply): Promise<void> => {
    const { access } = request.routeOptions.config;
    if (request.is404 || access === 'public') return;
    const given = header(request, 'x-api-key');
    if (given === null || given.length > MAX_KEY_LENGTH) {
      return fail(request, 'An API key is needed, in the header X-Api-Key.');
    }
    // Looked up first, whatever the address has done: its failures never shut out a valid key.
    const key = await findKey(given);
    // A key that is remembered may have ended since.
    if (key === null || isExpired(key.expiresAt, clock())) return fail(request, 'The API key is not valid.');
    limiter.call(key.keyId, access !== undefined && isListeners(access));
    if (access === undefined || !access.scopes.some((scope) => key.scopes.includes(scope))) {
      const needed = access?.scopes.join(' or ') ?? 'none that exists';
      throw new ApiError(403, `The API key lacks the scope ${needed}.`);
    }
    const tenantId = await tenantFor(deps.database, request, key);
    if (tenantId === null && access.tenant !== 'any') {
      throw tenantMissing();
    }
    callers.set(request, { ...key, tenantId });
  };
}
