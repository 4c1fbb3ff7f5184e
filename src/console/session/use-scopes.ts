import type { Session } from '../api/types.ts';
import { useTenantApi } from '../shell/tenant-context.ts';
import { useSession } from './session-gate.tsx';

/** What the session may do in a tenant. */

export function scopesIn(
  { tenants, platform_scopes: everywhere }: Session,
  tenantId: string,
): ReadonlySet<string> {
  const own = tenants.find(({ id }) => id === tenantId)?.scopes ?? [];
  return new Set([...own, ...everywhere]);
}

/** The scopes in the tenant of the URL. Actions without their scope are hidden. */
export function useScopes(): ReadonlySet<string> {
  return scopesIn(useSession(), useTenantApi().tenantId);
}
