import { queryOptions } from '@tanstack/react-query';
import { listTenants } from '../api/lists.ts';
import { allOf } from '../api/pages.ts';
import type { Session } from '../api/types.ts';

/** The tenants that someone can switch to. */

export interface TenantChoice {
  readonly id: string;
  readonly name: string;
}

/** Admins of the platform can use tenants in which they have no role. */
const seesAllTenants = ({ platform_scopes: scopes }: Session) => scopes.includes('admin');

export const tenantsQuery = (session: Session) =>
  queryOptions<readonly TenantChoice[]>({
    queryKey: ['tenants', session.id],
    queryFn: async ({ signal }) => {
      if (!seesAllTenants(session)) return session.tenants;
      const tenants = await allOf(listTenants, signal);
      return tenants.map(({ id, name }) => ({ id, name }));
    },
  });

const LAST = 'berth-tenant';

export const rememberTenant = (id: string): void => localStorage.setItem(LAST, id);

/** The tenant that the console opens: the one that was used last, if it still can be used. */
export function firstTenant(tenants: readonly TenantChoice[], last = localStorage.getItem(LAST)) {
  return tenants.find(({ id }) => id === last) ?? tenants[0] ?? null;
}
