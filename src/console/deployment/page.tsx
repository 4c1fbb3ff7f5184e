import { useQuery } from '@tanstack/react-query';
import { Link, Outlet, useParams, useSearch } from '@tanstack/react-router';
import { Problem } from '../api/problem.ts';
import type { Deployment } from '../api/types.ts';
import { DeploymentActions } from '../change/actions.tsx';
import { FollowPanel } from '../change/follow-panel.tsx';
import { commandLine } from '../commands/commands.ts';
import { ShowCommand } from '../commands/show-command.tsx';
import { StaleNotice } from '../live/stale-notice.tsx';
import { useFreshness } from '../live/use-freshness.ts';
import { useScope } from '../session/use-scope.ts';
import { Page } from '../shell/page.tsx';
import { useTenantApi } from '../shell/tenant-context.ts';
import { ExternalLink } from '../ui/external-link.tsx';
import { Loading } from '../ui/loading.tsx';
import { ProblemNotice } from '../ui/problem-notice.tsx';
import styles from './deployment.module.css';
import { DeploymentContext, type ShownDeployment } from './deployment-context.ts';
import { describeResource } from './describe-resource.ts';
import { deploymentQuery } from './queries.ts';
import { DeploymentMark } from './status-mark.tsx';
import { TABS } from './tabs.ts';

function DeploymentCommand({ id, tenant_id: tenantId, name }: Deployment) {
  return (
    <ShowCommand
      title="Show this deployment"
      request={{ path: `/v2/deployments/${id}`, tenantId }}
      berth={commandLine('berth', 'deployments', 'get', name)}
      kubectl={describeResource(id)}
    />
  );
}

function Tabs({ tenantId, deploymentId }: { readonly tenantId: string; readonly deploymentId: string }) {
  const mayWrite = useScope('deployments:write');
  const tabs = TABS.filter((tab) => !('scope' in tab) || mayWrite);
  return (
    <nav aria-label="Parts of the deployment" className={styles['tabs']}>
      {tabs.map(({ to, label, isExact }) => (
        <Link
          key={to}
          to={to}
          params={{ tenantId, deploymentId }}
          activeOptions={{ exact: isExact }}
          activeProps={{ 'aria-current': 'page' }}
        >
          {label}
        </Link>
      ))}
    </nav>
  );
}

function Headline({ deployment, isStale }: ShownDeployment) {
  return (
    <p className={styles['headline']}>
      <DeploymentMark status={deployment.status} isStale={isStale} />
      <span>{deployment.source}</span>
      {deployment.url !== null && <ExternalLink href={deployment.url} />}
    </p>
  );
}

const Actions = ({ deployment }: { readonly deployment: Deployment }) => (
  <>
    <DeploymentActions deployment={deployment} />
    <DeploymentCommand {...deployment} />
  </>
);

/** One deployment: what all its tabs show, and the tab. */
export function DeploymentPage() {
  const { deploymentId } = useParams({ from: '/t/$tenantId/deployments/$deploymentId' });
  const { follow } = useSearch({ from: '/t/$tenantId/deployments/$deploymentId' });
  const api = useTenantApi();
  const query = useQuery(deploymentQuery(api, deploymentId));
  const freshness = useFreshness(query);
  const { data: deployment, error } = query;
  const isGone = deployment !== undefined && error instanceof Problem && error.status === 404;
  // One element before and after the deployment is known, so that its heading keeps the focus.
  return (
    <Page
      key={deploymentId}
      title={deployment?.name ?? 'Deployment'}
      {...(deployment === undefined ? {} : { actions: <Actions deployment={deployment} /> })}
    >
      {query.isPending && <Loading what="the deployment" />}
      {error !== null &&
        (isGone ? (
          <p role="status">The deployment has been deleted. The page shows what was last known.</p>
        ) : (
          <ProblemNotice error={error} onRetry={() => void query.refetch()} />
        ))}
      {deployment !== undefined && (
        <>
          <Headline deployment={deployment} isStale={freshness.isStale} />
          <StaleNotice freshness={freshness} />
          {follow !== undefined && (
            <FollowPanel deployment={deployment} isStale={freshness.isStale} generation={Number(follow)} />
          )}
          <Tabs tenantId={api.tenantId} deploymentId={deploymentId} />
          <DeploymentContext value={{ deployment, isStale: freshness.isStale }}>
            <Outlet />
          </DeploymentContext>
        </>
      )}
    </Page>
  );
}
