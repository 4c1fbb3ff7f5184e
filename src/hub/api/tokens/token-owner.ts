import type { TokenOwner } from '../../store/tokens/access-tokens.ts';
import type { Caller } from '../core/auth.ts';
import { keyOf } from '../tenancy/principal.ts';

/** Which access tokens a caller may list and revoke. */

/** Whether the caller administers the tenant of the request, or the platform if the request names no tenant. */
export function isAdmin({ principal, tenantId, scopes }: Caller): boolean {
  if (scopes.includes('admin')) return true;
  if (!('grants' in principal)) return false;
  return principal.grants.tenants.some(
    (grant) => grant.tenantId === tenantId && grant.roles.includes('admin'),
  );
}

/**
 * The tokens that belong to the caller itself; null: an API key has none. A token of one tenant, which can be stolen, reaches
 * only those of its tenant.
 */
export function ownTokens({
  principal,
  tenantId,
}: Pick<Caller, 'principal' | 'tenantId'>): TokenOwner | null {
  if (keyOf(principal) !== null) return null;
  if ('person' in principal) {
    const isLimited = principal.kind === 'person_token' && !principal.grants.isPlatformAdmin;
    return { of: 'person', personId: principal.person.id, tenantId: isLimited ? tenantId : null };
  }
  return 'tokenId' in principal ? { of: 'token', tokenId: principal.tokenId } : null;
}

/** The tokens that the caller administers; null: the caller is not an admin. */
export function administeredTokens(caller: Caller): TokenOwner | null {
  if (!isAdmin(caller)) return null;
  return caller.tenantId === null ? { of: 'platform' } : { of: 'tenant', tenantId: caller.tenantId };
}
