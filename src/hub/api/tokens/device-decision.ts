import { type Grants, hasGrants } from '../../../domain/access/access-policy.ts';
import { PLATFORM_ADMIN, type Role } from '../../../domain/access/roles.ts';
import { canGrant, grantableRoles } from '../../../domain/access/token-grants.ts';
import { namesTenant } from '../../../domain/access/workload-policy.ts';

/** What a person can give to a login of a device. Pure. */

/** A tenant that the person can choose, with the roles that the person can give. */
export interface Offer {
  /** null: the platform. */
  readonly tenantId: string | null;
  readonly tenantName: string;
  readonly roles: readonly Role[];
}

const PLATFORM: Offer = { tenantId: null, tenantName: 'the platform', roles: [PLATFORM_ADMIN] };

/** What a person can choose: the tenants of the person, and the platform for its admins. */
export function offersOf(grants: Grants): Offer[] {
  const tenants = grants.tenants.map(({ tenantId, tenantName }) => ({
    tenantId,
    tenantName,
    roles: grantableRoles(grants, tenantId),
  }));
  return grants.isPlatformAdmin ? [...tenants, PLATFORM] : tenants;
}

const isRequested = ({ tenantId, tenantName }: Offer, requested: string | null) =>
  requested !== null &&
  tenantId !== null &&
  namesTenant({ tenant: requested }, { id: tenantId, name: tenantName });

/** The offers with those first that the machine asks for. The person can choose another one. */
export function proposedFirst(offers: readonly Offer[], requested: string | null): Offer[] {
  const matches = (offer: Offer) => isRequested(offer, requested);
  return [...offers.filter(matches), ...offers.filter((offer) => !matches(offer))];
}

/** What the machine asks for. null: nothing in particular. */
export interface Requested {
  readonly tenant: string | null;
  readonly role: Role | null;
}

/** One choice of a person. A role of null means all roles that the person has in the tenant. */
export interface Choice {
  readonly tenantId: string | null;
  readonly role: Role | null;
}

/**
 * The choice that a page may make for the person: only what the machine asks for, in its tenant or in the only tenant of the
 * person, and never the platform.
 * @param offers the requested tenant is the first
 * @returns null: the person must choose
 */
export function preselected([first, ...others]: readonly Offer[], requested: Requested): Choice | null {
  if (first === undefined || first.tenantId === null) return null;
  const isProposed = requested.tenant === null ? others.length === 0 : isRequested(first, requested.tenant);
  if (!isProposed) return null;
  const { role } = requested;
  return role === null || first.roles.includes(role) ? { tenantId: first.tenantId, role } : null;
}

/**
 * What a login gets. Without chosen roles, it gets those that the person has in the tenant.
 * @returns null: the person cannot give this
 */
export function chosenGrant(
  grants: Grants,
  tenantId: string | null,
  chosen: readonly Role[] | null,
): { readonly tenantId: string | null; readonly roles: readonly Role[] } | null {
  if (!hasGrants(grants)) return null;
  const held = grants.tenants.find((grant) => grant.tenantId === tenantId)?.roles;
  const own: readonly Role[] = tenantId === null ? [PLATFORM_ADMIN] : (held ?? ['admin']);
  const roles = chosen ?? own;
  return canGrant(grants, { tenantId, tenantName: '', roles }) ? { tenantId, roles } : null;
}
