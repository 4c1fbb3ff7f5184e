import { useTenantApi } from '../shell/tenant-context.ts';
import { scopesIn } from './rights.ts';
import { useSession } from './session-gate.tsx';

/** Whether the session has a scope in the tenant that the URL names. */
export function useScope(scope: string): boolean {
  const { tenantId } = useTenantApi();
  return scopesIn(useSession(), tenantId).has(scope);
}
