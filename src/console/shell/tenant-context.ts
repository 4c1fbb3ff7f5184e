import { useParams } from '@tanstack/react-router';
import { type TenantApi, tenantApi } from '../api/client.ts';

/** The tenant that the URL names. */

export function useTenantApi(): TenantApi {
  const { tenantId = '' } = useParams({ strict: false });
  return tenantApi(tenantId);
}
