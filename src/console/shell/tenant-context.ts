import { useParams } from '@tanstack/react-router';
import { type TenantApi, tenantApi } from '../api/client.ts';
import { useSession } from '../session/session-gate.tsx';

/** The tenant that the URL names. */

export function useTenantApi(): TenantApi {
  const { tenantId = '' } = useParams({ strict: false });
  return tenantApi(tenantId);
}

/** Whether the session has a scope in this tenant. The API checks it again; pages only leave out what would be rejected. */
export function useMay(scope: string): boolean {
  const { tenantId } = useTenantApi();
  const { tenants, platform_scopes: everywhere } = useSession();
  const scopes = tenants.find(({ id }) => id === tenantId)?.scopes ?? [];
  return scopes.includes(scope) || everywhere.includes(scope);
}
