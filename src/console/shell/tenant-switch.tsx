import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useSession } from '../session/session-gate.tsx';
import styles from './shell.module.css';
import { type TenantChoice, tenantsQuery } from './tenants-query.ts';

/** The tenants of the list, with the one of the URL even if the list does not have it. */
function withCurrent(tenants: readonly TenantChoice[], tenantId: string): readonly TenantChoice[] {
  if (tenants.some(({ id }) => id === tenantId)) return tenants;
  return [...tenants, { id: tenantId, name: tenantId }];
}

/** Switches to another tenant, and opens its deployments. */
export function TenantSwitch({ tenantId }: { readonly tenantId: string }) {
  const session = useSession();
  const { data } = useQuery(tenantsQuery(session));
  const navigate = useNavigate();
  const tenants = withCurrent(data ?? session.tenants, tenantId);
  return (
    <select
      className={styles['tenant']}
      aria-label="Tenant"
      value={tenantId}
      onChange={({ target }) =>
        void navigate({ to: '/t/$tenantId/deployments', params: { tenantId: target.value } })
      }
    >
      {tenants.map(({ id, name }) => (
        <option key={id} value={id}>
          {name}
        </option>
      ))}
    </select>
  );
}
