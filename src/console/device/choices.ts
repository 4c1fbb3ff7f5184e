import type { DeviceLogin, DeviceLoginOffer } from '../api/types.ts';
import { isolated } from '../ui/isolated.ts';

/** What a person can give to the machine of a login. */

type Role = DeviceLoginOffer['roles'][number];

/** One choice. A role of null means all roles that the person has in the tenant. */
export interface Choice {
  /** Value of the option, unique among the choices. */
  readonly value: string;
  readonly text: string;
  /** null: the platform. */
  readonly tenantId: string | null;
  readonly role: Role | null;
}

const optionValue = (tenantId: string | null, role: Role | null) => `${tenantId ?? ''}/${role ?? ''}`;

/** All roles of each tenant, or one of them. */
export function choicesOf({ offers }: Pick<DeviceLogin, 'offers'>): Choice[] {
  return offers.flatMap(({ tenant_id: tenantId, tenant_name: name, roles }) =>
    [null, ...roles].map((role) => ({
      value: optionValue(tenantId, role),
      text: `${isolated(name)}: ${role ?? 'all your roles in this tenant'}`,
      tenantId,
      role,
    })),
  );
}

/**
 * The choice that the page makes for the person: only what the machine asks for, in its tenant or in the only tenant of the person, and
 * never the platform. Empty: the person must choose (docs/decisions/0130).
 */
export function firstChoice(
  login: Pick<DeviceLogin, 'offers' | 'requested_tenant' | 'requested_role'>,
): string {
  const { requested_tenant: tenant, requested_role: role } = login;
  const [first, ...others] = login.offers;
  if (first === undefined || first.tenant_id === null) return '';
  const isRequested = tenant === first.tenant_name || tenant?.toLowerCase() === first.tenant_id;
  if (tenant === null ? others.length > 0 : !isRequested) return '';
  return role === null || first.roles.includes(role) ? optionValue(first.tenant_id, role) : '';
}
