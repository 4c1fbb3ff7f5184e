import { useInfiniteQuery } from '@tanstack/react-query';
import { Link, useSearch } from '@tanstack/react-router';
import { useMemo } from 'react';
import type { BerthEvent } from '../api/types.ts';
import { stringifySearch } from '../app/search.ts';
import { commandLine } from '../commands/commands.ts';
import { ShowCommand } from '../commands/show-command.tsx';
import { StaleNotice } from '../live/stale-notice.tsx';
import { useEachChange } from '../live/use-each-change.ts';
import { useFreshness } from '../live/use-freshness.ts';
import { Page } from '../shell/page.tsx';
import { useTenantApi } from '../shell/tenant-context.ts';
import { Empty } from '../ui/empty.tsx';
import { Loading } from '../ui/loading.tsx';
import { MoreButton } from '../ui/more-button.tsx';
import { ProblemNotice } from '../ui/problem-notice.tsx';
import { ScrollTable } from '../ui/scroll-table.tsx';
import { Time } from '../ui/time.tsx';
import { actorKind, actorName } from './actor-text.ts';
import { HistoryFilterBar } from './filter-bar.tsx';
import { eventsCommand, type HistoryFilters } from './filters.ts';
import { historyQuery } from './queries.ts';

function Row({ event, tenantId }: { readonly event: BerthEvent; readonly tenantId: string }) {
  const { at, actor, reason, message, deployment_id: deploymentId } = event;
  return (
    <tr>
      <td>
        <Time at={at} />
      </td>
      <td>
        <bdi>{actorName(actor)}</bdi> ({actorKind(actor)})
      </td>
      <th scope="row">{reason}</th>
      <td>{message}</td>
      <td>
        {deploymentId === null ? (
          '–'
        ) : (
          <Link to="/t/$tenantId/deployments/$deploymentId" params={{ tenantId, deploymentId }}>
            {deploymentId}
          </Link>
        )}
      </td>
    </tr>
  );
}

const COLUMNS = ['When', 'Who', 'What', 'Message', 'Deployment'];

/** Who did what in a tenant, newest first. */
export function HistoryPage() {
  const search = useSearch({ from: '/t/$tenantId/history' });
  const text = JSON.stringify(search);
  // The router creates an equal object for each navigation.
  // biome-ignore lint/correctness/useExhaustiveDependencies: the text stands for the object.
  const filters = useMemo<HistoryFilters>(() => search, [text]);
  const api = useTenantApi();
  const options = historyQuery(api, filters);
  const query = useInfiniteQuery(options);
  useEachChange(options.queryKey);
  const freshness = useFreshness(query);
  const events = query.data?.pages.flatMap(({ events }) => events) ?? [];
  const command = (
    <ShowCommand
      title="List these events"
      request={{ path: `/v2/events${stringifySearch(filters)}`, tenantId: api.tenantId }}
      berth={commandLine('berth', 'events', ...eventsCommand(filters))}
    />
  );
  return (
    <Page title="History" actions={command}>
      <HistoryFilterBar filters={filters} />
      {query.error !== null && <ProblemNotice error={query.error} onRetry={() => void query.refetch()} />}
      <StaleNotice freshness={freshness} />
      {query.isPending && <Loading what="the history" />}
      {query.data !== undefined && events.length === 0 && <Empty title="No event matches" />}
      {events.length > 0 && (
        <ScrollTable label="History" columns={COLUMNS}>
          {events.map((event) => (
            <Row key={event.id} event={event} tenantId={api.tenantId} />
          ))}
        </ScrollTable>
      )}
      <MoreButton query={query} text="Show older events" />
    </Page>
  );
}
