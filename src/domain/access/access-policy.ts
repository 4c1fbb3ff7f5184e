import { z } from 'zod';
import { UUID_PATTERN } from '../core/id.ts';
import type { Scope } from '../core/scopes.ts';
import { PLATFORM_ADMIN, ROLES, type Role, scopesOfRoles, type TenantRole } from './roles.ts';
import { workloadIssuersSchema } from './workload-policy.ts';

/** The section `access` of the policy file: which groups and workloads of which issuer have which roles. */

const MAX_RULES = 1000;
/** Maximum length of an issuer, a group or a name of a tenant in a rule. */
const MAX_TEXT = 512;

const ruleText = z.string().min(1).max(MAX_TEXT);

const groupRuleSchema = z
  .strictObject({
    issuer: ruleText.describe('Issuer of the token, exactly as in the claim iss.'),
    group: ruleText.describe('Group in the token, case-sensitive.'),
    tenant: ruleText.optional().describe('Name or id of the tenant. Absent: the platform.'),
    roles: z
      .array(z.enum(ROLES))
      .min(1)
      .max(ROLES.length)
      .describe('Roles in the tenant, or platform_admin.'),
  })
  .refine(({ tenant, roles }) => tenant !== undefined || roles.every((role) => role === PLATFORM_ADMIN), {
    path: ['tenant'],
    message: `is required, unless the only role is ${PLATFORM_ADMIN}`,
  })
  .refine(({ tenant, roles }) => tenant === undefined || !roles.includes(PLATFORM_ADMIN), {
    path: ['roles'],
    message: `must not contain ${PLATFORM_ADMIN} together with a tenant, because this role acts in every tenant`,
  });

export const accessPolicySchema = z.strictObject({
  groups: z
    .array(groupRuleSchema)
    .max(MAX_RULES)
    .describe('Roles of groups of people who sign in. Each group belongs to one issuer.'),
  workload_issuers: workloadIssuersSchema.default([]),
});
export type AccessPolicy = z.infer<typeof accessPolicySchema>;

/** A policy that gives no roles. */
export const NO_ACCESS: AccessPolicy = { groups: [], workload_issuers: [] };

/** What an issuer states about a person. */
export interface Identity {
  readonly issuer: string;
  readonly groups: readonly string[];
}

/** The roles that a policy gives. The tenants are named as in the policy. */
export interface NamedRoles {
  readonly isPlatformAdmin: boolean;
  /** Roles by the name or id of the tenant. */
  readonly tenants: ReadonlyMap<string, readonly TenantRole[]>;
}

const union = <T>(left: readonly T[], right: readonly T[]): T[] => [...new Set([...left, ...right])];

const isTenantRole = (role: Role): role is TenantRole => role !== PLATFORM_ADMIN;

/** Ids are compared without regard to case, names exactly. */
const normalReference = (tenant: string) => (UUID_PATTERN.test(tenant) ? tenant.toLowerCase() : tenant);

/** The roles of a person. An identity without a matching rule has none. */
export function rolesOf({ groups }: Pick<AccessPolicy, 'groups'>, identity: Identity): NamedRoles {
  const held = new Set(identity.groups);
  const matching = groups.filter(({ issuer, group }) => issuer === identity.issuer && held.has(group));
  const tenants = new Map<string, readonly TenantRole[]>();
  for (const { tenant, roles } of matching) {
    if (tenant === undefined) continue;
    const reference = normalReference(tenant);
    tenants.set(reference, union(tenants.get(reference) ?? [], roles.filter(isTenantRole)));
  }
  return { isPlatformAdmin: matching.some(({ roles }) => roles.includes(PLATFORM_ADMIN)), tenants };
}

/** The tenants of some roles, for a lookup. */
export function tenantReferences({ tenants }: NamedRoles): { ids: string[]; names: string[] } {
  const references = [...tenants.keys()];
  return {
    ids: references.filter((reference) => UUID_PATTERN.test(reference)),
    names: references.filter((reference) => !UUID_PATTERN.test(reference)),
  };
}

/** What a caller may do in one tenant. */
export interface TenantGrant {
  readonly tenantId: string;
  readonly tenantName: string;
  readonly roles: readonly TenantRole[];
}

/** What a person or workload may do, in each tenant and on the platform. */
export interface Grants {
  readonly isPlatformAdmin: boolean;
  /** In the order of their names. */
  readonly tenants: readonly TenantGrant[];
}

export const NO_GRANTS: Grants = { isPlatformAdmin: false, tenants: [] };

/** Resolves the tenants of roles. A tenant that does not exist gives nothing. */
export function grantsOf(
  { isPlatformAdmin, tenants }: NamedRoles,
  existing: readonly { readonly id: string; readonly name: string }[],
): Grants {
  const granted = existing.flatMap(({ id, name }): TenantGrant[] => {
    // A name in the form of an id never matches, because a reference in this form is an id.
    const byName = UUID_PATTERN.test(name) ? [] : (tenants.get(name) ?? []);
    const roles = union(tenants.get(id) ?? [], byName);
    return roles.length === 0 ? [] : [{ tenantId: id, tenantName: name, roles }];
  });
  return { isPlatformAdmin, tenants: granted.sort((a, b) => a.tenantName.localeCompare(b.tenantName)) };
}

/** Whether the caller may do anything at all. */
export const hasGrants = ({ isPlatformAdmin, tenants }: Grants): boolean =>
  isPlatformAdmin || tenants.length > 0;

/**
 * The scopes in a tenant; null: of the platform, outside all tenants. An empty list means that the caller does not
 * belong to the tenant.
 */
export function scopesIn({ isPlatformAdmin, tenants }: Grants, tenantId: string | null): readonly Scope[] {
  const roles: Role[] = isPlatformAdmin ? [PLATFORM_ADMIN] : [];
  const grant = tenants.find((one) => one.tenantId === tenantId);
  return scopesOfRoles([...roles, ...(grant?.roles ?? [])]);
}
