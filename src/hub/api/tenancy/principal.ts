import { type Grants, hasGrants, scopesIn } from '../../../domain/access/access-policy.ts';
import type { Scope } from '../../../domain/core/scopes.ts';
import type { Actor } from '../../store/core/events.ts';

/** Who sends a request, and with which credential. */

/** An API key. It has the same scopes in every tenant that it reaches. */
export interface KeyPrincipal {
  readonly kind: 'api_key';
  /** null: the key of the listener in the same process, which is not stored. */
  readonly keyId: string | null;
  readonly keyName: string;
  readonly scopes: readonly Scope[];
  /** When the key expires; null: never. */
  readonly expiresAt: Date | null;
  /** The tenant of the key; null: the platform. */
  readonly keyTenantId: string | null;
}

/** A person whom an identity provider authenticated. */
export interface Person {
  /** Id of the row in `people`. */
  readonly id: string;
  readonly name: string;
}

/** A person in a browser, with the cookie of a session. */
export interface PersonSession {
  readonly kind: 'person_session';
  readonly sessionId: string;
  readonly person: Person;
  readonly grants: Grants;
  readonly expiresAt: Date;
}

/** An API key in a browser, exchanged for the cookie of a session. */
export interface KeySession {
  readonly kind: 'key_session';
  readonly sessionId: string;
  readonly key: KeyPrincipal;
  readonly expiresAt: Date;
}

/** A token of a person, for programs. Its grants are at most those of the person. */
export interface PersonToken {
  readonly kind: 'person_token';
  readonly tokenId: string;
  readonly person: Person;
  readonly grants: Grants;
  readonly expiresAt: Date;
}

/** A pipeline that exchanged the token of its issuer. */
export interface Workload {
  readonly kind: 'workload';
  readonly tokenId: string;
  readonly name: string;
  readonly grants: Grants;
  readonly expiresAt: Date;
}

export type Principal = KeyPrincipal | KeySession | PersonSession | PersonToken | Workload;

/** The API key of a principal; null: it has none. */
export function keyOf(principal: Principal): KeyPrincipal | null {
  if (principal.kind === 'api_key') return principal;
  return principal.kind === 'key_session' ? principal.key : null;
}

/**
 * The end of everything that the caller may create for later use, such as API keys; null: no end. A session of a person
 * does not limit it, because the person can sign in again.
 */
export function grantEndOf(principal: Principal): Date | null {
  if (principal.kind === 'person_session') return null;
  return principal.kind === 'key_session' ? principal.key.expiresAt : principal.expiresAt;
}

/** Whether the credential is a cookie, which a browser sends without the intent of a person. */
export const isSession = ({ kind }: Principal): boolean =>
  kind === 'person_session' || kind === 'key_session';

/** The id by which processes are notified that a credential may have lost its rights. */
export function credentialIdOf(principal: Principal): string {
  switch (principal.kind) {
    case 'api_key':
      return principal.keyId ?? principal.keyName;
    case 'key_session':
    case 'person_session':
      return principal.sessionId;
    case 'person_token':
    case 'workload':
      return principal.tokenId;
  }
}

/** The id that counts requests for the rate limit; null: they are not limited. */
export function limitIdOf(principal: Principal): string | null {
  switch (principal.kind) {
    case 'api_key':
      return principal.keyId;
    case 'key_session':
      return principal.key.keyId;
    case 'person_session':
    case 'person_token':
      return principal.person.id;
    case 'workload':
      // All tokens of a workload together, because it can get many.
      return `workload ${principal.name}`;
  }
}

/** The author of changes, as the history stores it. */
export function actorOfPrincipal(principal: Principal): Actor {
  switch (principal.kind) {
    case 'api_key':
      return principal.keyId === null
        ? { kind: 'system', name: principal.keyName }
        : { kind: 'api_key', id: principal.keyId, name: principal.keyName };
    case 'key_session':
      return actorOfPrincipal(principal.key);
    case 'person_session':
    case 'person_token':
      return { kind: 'person', id: principal.person.id, name: principal.person.name };
    case 'workload':
      return { kind: 'workload', id: principal.tokenId, name: principal.name };
  }
}

/** The part of the log lines that identifies the caller. */
export function logFieldsOf(principal: Principal): Record<string, string | null> {
  switch (principal.kind) {
    case 'api_key':
      return { keyId: principal.keyId };
    case 'key_session':
      return { keyId: principal.key.keyId, sessionId: principal.sessionId };
    case 'person_session':
      return { personId: principal.person.id, person: principal.person.name, sessionId: principal.sessionId };
    case 'person_token':
      return { personId: principal.person.id, person: principal.person.name, tokenId: principal.tokenId };
    case 'workload':
      return { workload: principal.name, tokenId: principal.tokenId };
  }
}

/**
 * The decision about the tenant of a request.
 * - admitted: the caller acts in the tenant (null: on the platform) with these scopes.
 * - lookup: the same, if the tenant exists.
 * - unknown: the tenant does not exist, or the caller may not know that it exists.
 * - unnamed: the request must name a tenant.
 * - without_roles: the caller has no role in any tenant.
 */
export type Admission =
  | { readonly kind: 'admitted'; readonly tenantId: string | null; readonly scopes: readonly Scope[] }
  | { readonly kind: 'lookup'; readonly tenantId: string; readonly scopes: readonly Scope[] }
  | { readonly kind: 'unknown' | 'unnamed' | 'without_roles' };

function admitKey({ keyTenantId, scopes }: KeyPrincipal, named: string | null): Admission {
  if (named === null || named === keyTenantId) return { kind: 'admitted', tenantId: keyTenantId, scopes };
  return scopes.includes('admin') ? { kind: 'lookup', tenantId: named, scopes } : { kind: 'unknown' };
}

function admitGrants(grants: Grants, named: string | null): Admission {
  if (!hasGrants(grants)) return { kind: 'without_roles' };
  const { isPlatformAdmin, tenants } = grants;
  const admitted = (tenantId: string | null): Admission => ({
    kind: 'admitted',
    tenantId,
    scopes: scopesIn(grants, tenantId),
  });
  if (named !== null) {
    if (tenants.some(({ tenantId }) => tenantId === named)) return admitted(named);
    if (!isPlatformAdmin) return { kind: 'unknown' };
    return { kind: 'lookup', tenantId: named, scopes: scopesIn(grants, null) };
  }
  if (isPlatformAdmin) return admitted(null);
  const [only, ...others] = tenants;
  return only !== undefined && others.length === 0 ? admitted(only.tenantId) : { kind: 'unnamed' };
}

/**
 * Decides in which tenant a request acts, and with which scopes.
 * @param named tenant of the header X-Tenant-Id; null: none
 */
export function admissionOf(principal: Principal, named: string | null): Admission {
  if ('grants' in principal) return admitGrants(principal.grants, named);
  return admitKey(principal.kind === 'api_key' ? principal : principal.key, named);
}
