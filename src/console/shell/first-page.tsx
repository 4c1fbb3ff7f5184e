import { useQuery } from '@tanstack/react-query';
import { Navigate } from '@tanstack/react-router';
import { useSession } from '../session/session-gate.tsx';
import { Loading } from '../ui/loading.tsx';
import { ProblemNotice } from '../ui/problem-notice.tsx';
import { Page } from './page.tsx';
import { firstTenant, tenantsQuery } from './tenants-query.ts';

/** Leads to the tenant that was used last. */
export function FirstPage() {
  const { data: tenants, error, isPending, refetch } = useQuery(tenantsQuery(useSession()));
  if (isPending) return <Loading what="your tenants" />;
  if (error !== null) return <ProblemNotice error={error} onRetry={() => void refetch()} />;
  const tenant = firstTenant(tenants);
  if (tenant !== null)
    return <Navigate to="/t/$tenantId/deployments" params={{ tenantId: tenant.id }} replace />;
  return (
    <Page title="No tenant">
      <p>You can use no tenant yet. An admin of the platform creates tenants and gives roles.</p>
    </Page>
  );
}
