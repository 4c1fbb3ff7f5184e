import { type Grants, NO_GRANTS } from './access-policy.ts';
import { PLATFORM_ADMIN, type Role, scopesOfRoles, TENANT_ROLES, type TenantRole } from './roles.ts';
import { namesTenant, type WorkloadIssuer } from './workload-policy.ts';

/** What an access token may do: at most what its person may do now. */

/** The tenant and the roles that a token was created with. */
export interface TokenGrant {
  /** null: the platform, with the role platform_admin. */
  readonly tenantId: string | null;
  /** Empty for the platform. */
  readonly tenantName: string;
  readonly roles: readonly Role[];
}

const isTenantRole = (role: Role): role is TenantRole => role !== PLATFORM_ADMIN;

/** Whether roles include all scopes of another role. An admin of a tenant can pass on each of its roles. */
function covers(held: readonly Role[], role: TenantRole): boolean {
  const scopes = scopesOfRoles(held);
  return scopesOfRoles([role]).every((scope) => scopes.includes(scope));
}

/** The roles of a tenant that a person can give to a token. */
export function grantableRoles({ isPlatformAdmin, tenants }: Grants, tenantId: string): TenantRole[] {
  if (isPlatformAdmin) return [...TENANT_ROLES];
  const held = tenants.find((grant) => grant.tenantId === tenantId)?.roles ?? [];
  return TENANT_ROLES.filter((role) => covers(held, role));
}

/** Whether a person can create a token with this grant. */
export function canGrant(current: Grants, { tenantId, roles }: TokenGrant): boolean {
  if (roles.length === 0) return false;
  if (tenantId === null) return current.isPlatformAdmin && roles.every((role) => role === PLATFORM_ADMIN);
  const grantable: readonly Role[] = grantableRoles(current, tenantId);
  return roles.every((role) => grantable.includes(role));
}

function inTenant({ tenantId, tenantName }: TokenGrant, roles: readonly Role[]): Grants {
  const kept = roles.filter(isTenantRole);
  if (tenantId === null || kept.length === 0) return NO_GRANTS;
  return { isPlatformAdmin: false, tenants: [{ tenantId, tenantName, roles: kept }] };
}

/**
 * The grants of a token of a workload. A rule that is removed from the policy, or that gives fewer roles, acts at once on the
 * tokens that it gave before.
 * @param rule the id of the rule that gave the token
 */
export function grantsOfWorkload(
  token: TokenGrant,
  rule: string,
  issuers: readonly WorkloadIssuer[],
): Grants {
  const [issuerName = '', ruleName] = rule.split('/');
  const issuer = issuers.find((each) => each.name === issuerName);
  const inForce = issuer?.rules.find((each) => each.name === ruleName);
  const { tenantId: id, tenantName: name } = token;
  if (inForce === undefined || id === null || !namesTenant(inForce, { id, name })) return NO_GRANTS;
  const given: readonly Role[] = inForce.roles;
  return inTenant(
    token,
    token.roles.filter((role) => given.includes(role)),
  );
}

/**
 * The grants of a token of a person. A role that the person has lost since the token was created is lost for the token.
 * @param current the grants of the person now
 */
export function grantsOfPersonToken(token: TokenGrant, current: Grants): Grants {
  const { tenantId, roles } = token;
  if (tenantId === null)
    return { isPlatformAdmin: current.isPlatformAdmin && roles.includes(PLATFORM_ADMIN), tenants: [] };
  const grantable: readonly Role[] = grantableRoles(current, tenantId);
  return inTenant(
    token,
    roles.filter((role) => grantable.includes(role)),
  );
}
