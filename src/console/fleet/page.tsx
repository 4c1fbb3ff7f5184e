import { useQuery } from '@tanstack/react-query';
import { Link, useSearch } from '@tanstack/react-router';
import { useCallback, useMemo } from 'react';
import type { Deployment, Listener } from '../api/types.ts';
import { stringifySearch } from '../app/search.ts';
import { commandLine } from '../commands/commands.ts';
import { ShowCommand } from '../commands/show-command.tsx';
import { StaleNotice } from '../live/stale-notice.tsx';
import { useFreshness } from '../live/use-freshness.ts';
import { useScope } from '../session/use-scope.ts';
import { Page } from '../shell/page.tsx';
import { useTenantApi } from '../shell/tenant-context.ts';
import { Empty } from '../ui/empty.tsx';
import { Loading } from '../ui/loading.tsx';
import { ProblemNotice } from '../ui/problem-notice.tsx';
import ui from '../ui/ui.module.css';
import { FilterBar } from './filter-bar.tsx';
import { commandOptions, type Filters, isFiltered } from './filters.ts';
import { FleetTable } from './fleet-table.tsx';
import { rowsOf } from './pages.ts';
import { listenersQuery } from './queries.ts';
import { useFleet } from './use-fleet.ts';

function clusterNames(listeners: readonly Listener[]): (row: Deployment) => string {
  const names = new Map(listeners.map(({ id, compute_id: name }) => [id, name]));
  return ({ source_config: { listener_id: id } }) => (id == null ? 'platform' : (names.get(id) ?? id));
}

function FleetCommand({ filters }: { readonly filters: Filters }) {
  const { tenantId } = useTenantApi();
  const options = commandOptions(filters);
  return (
    <ShowCommand
      title="List these deployments"
      request={{ path: `/v2/deployments${stringifySearch(filters)}`, tenantId }}
      {...(options === null ? {} : { berth: commandLine('berth', 'deployments', 'list', ...options) })}
      kubectl={commandLine('kubectl', 'get', 'mdep', '-A')}
    />
  );
}

/** Leads to the form of a new deployment, for sessions that may create one. */
function CreateLink() {
  const { tenantId } = useTenantApi();
  if (!useScope('deployments:write')) return null;
  return (
    <Link to="/t/$tenantId/new" params={{ tenantId }} className={`${ui['button']} ${ui['primary']}`}>
      Create
    </Link>
  );
}

/** What a list without rows means. */
const Nothing = ({ filters }: { readonly filters: Filters }) =>
  isFiltered(filters) ? (
    <Empty title="No deployment matches these filters" />
  ) : (
    <Empty title="This tenant has no deployments yet">
      <p>
        Create one here, with <code>berth deploy NAME --image IMAGE</code>, or with the API.
      </p>
    </Empty>
  );

const Actions = ({ filters }: { readonly filters: Filters }) => (
  <>
    <CreateLink />
    <FleetCommand filters={filters} />
  </>
);

/** All deployments of a tenant. */
export function FleetPage() {
  const search = useSearch({ from: '/t/$tenantId/deployments' });
  const key = JSON.stringify(search);
  // The router creates an equal object for each navigation.
  // biome-ignore lint/correctness/useExhaustiveDependencies: the key stands for the object.
  const filters = useMemo<Filters>(() => search, [key]);
  const api = useTenantApi();
  const fleet = useFleet(filters);
  const freshness = useFreshness(fleet);
  const { data: listeners } = useQuery(listenersQuery(api));
  const clusterOf = useMemo(() => clusterNames(listeners ?? []), [listeners]);
  const rows = useMemo(() => rowsOf(fleet.data?.pages ?? []), [fleet.data]);
  const { hasNextPage, isFetching, fetchNextPage } = fleet;
  const loadMore = useCallback(() => {
    if (!isFetching) void fetchNextPage({ cancelRefetch: false });
  }, [isFetching, fetchNextPage]);
  return (
    <Page title="Deployments" actions={<Actions filters={filters} />}>
      <FilterBar filters={filters} />
      {fleet.error !== null && <ProblemNotice error={fleet.error} onRetry={() => void fleet.refetch()} />}
      <StaleNotice freshness={freshness} />
      {fleet.isPending && <Loading what="the deployments" />}
      {fleet.data !== undefined && (
        <>
          <p role="status">
            {rows.length}
            {hasNextPage && ' or more'} {rows.length === 1 && !hasNextPage ? 'deployment' : 'deployments'}
          </p>
          {rows.length === 0 && <Nothing filters={filters} />}
          {rows.length > 0 && (
            <FleetTable
              rows={rows}
              tenantId={api.tenantId}
              isStale={freshness.isStale}
              clusterOf={clusterOf}
              // After an error, the next page is requested only on demand, because it would fail again and again.
              hasMore={hasNextPage && fleet.error === null}
              loadMore={loadMore}
            />
          )}
        </>
      )}
    </Page>
  );
}
