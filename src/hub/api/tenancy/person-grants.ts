import {
  type Grants,
  grantsOf,
  type Identity,
  rolesOf,
  tenantReferences,
} from '../../../domain/access/access-policy.ts';
import type { Reader } from '../../store/core/database.ts';
import { findTenantsOf } from '../../store/tenancy/people.ts';
import type { ApiDeps } from '../core/deps.ts';

/**
 * What a person may do now: the groups of the last sign-in, under the policy in force. Platform scope.
 */
export async function grantsOfPerson(
  deps: Pick<ApiDeps, 'access' | 'policy'>,
  reader: Reader,
  identity: Identity,
): Promise<Grants> {
  const roles = rolesOf(deps.access?.() ?? deps.policy.access, identity);
  const tenants = roles.tenants.size === 0 ? [] : await findTenantsOf(reader, tenantReferences(roles));
  return grantsOf(roles, tenants);
}
