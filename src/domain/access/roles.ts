import { SCOPES, type Scope, TENANT_SCOPES } from '../core/scopes.ts';

/** Roles of people and workloads, as sets of the scopes that API keys have. */

/** Roles in one tenant. */
export const TENANT_ROLES = ['viewer', 'deployer', 'secrets', 'tasks', 'admin'] as const;
export type TenantRole = (typeof TENANT_ROLES)[number];

/** The role of the platform, which acts in every tenant. */
export const PLATFORM_ADMIN = 'platform_admin';

export const ROLES = [...TENANT_ROLES, PLATFORM_ADMIN] as const;
export type Role = (typeof ROLES)[number];

/**
 * The scopes of each role. No role of a tenant has the scope admin, because that scope acts in every tenant. Every role
 * can read deployments, so that its holder sees what the other scopes act on.
 */
const ROLE_SCOPES: Readonly<Record<Role, readonly Scope[]>> = {
  viewer: ['deployments:read'],
  deployer: ['deployments:read', 'deployments:write'],
  secrets: ['deployments:read', 'secrets:read'],
  tasks: ['deployments:read', 'tasks:run'],
  admin: TENANT_SCOPES,
  platform_admin: SCOPES,
};

/** The scopes of several roles together, in the order of SCOPES. */
export function scopesOfRoles(roles: readonly Role[]): readonly Scope[] {
  const held = new Set(roles.flatMap((role) => ROLE_SCOPES[role]));
  return SCOPES.filter((scope) => held.has(scope));
}
