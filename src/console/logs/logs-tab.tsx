import { useInfiniteQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { type ReactNode, useMemo, useState } from 'react';
import { ShowCommand } from '../commands/show-command.tsx';
import { useDeployment } from '../deployment/deployment-context.ts';
import { revisionsQuery } from '../deployment/queries.ts';
import { Section } from '../deployment/section.tsx';
import { useScope } from '../session/use-scope.ts';
import { useTenantApi } from '../shell/tenant-context.ts';
import { Empty } from '../ui/empty.tsx';
import { LogFilterBar } from './log-filter-bar.tsx';
import { type LogFilters, type LogRequest, logCommand, logPath } from './log-filters.ts';
import { containersOf, type LogLines, NO_LINES } from './log-lines.ts';
import { LogView } from './log-view.tsx';
import { useLog } from './use-log.ts';

const ROUTE = '/t/$tenantId/deployments/$deploymentId/logs';

interface ReaderProps {
  readonly filters: LogFilters;
  readonly request: LogRequest;
  readonly filterBar: (lines: LogLines) => ReactNode;
}

/** Reads one log, and shows it. */
function Reader({ filters, request, filterBar }: ReaderProps) {
  const { id, tenant_id: tenantId } = useDeployment().deployment;
  const { lines, state, restart } = useLog(tenantId, id, request);
  return (
    <>
      {filterBar(lines)}
      <LogView key={logPath(id, request)} lines={lines} state={state} filters={filters} onRestart={restart} />
    </>
  );
}

/** The output of the pods of a deployment, or of a build. */
export function LogsTab() {
  const { deployment } = useDeployment();
  const { id, name, tenant_id: tenantId } = deployment;
  const filters = useSearch({ from: ROUTE });
  const navigate = useNavigate();
  const maySeeSecrets = useScope('secrets:read');
  const [wantsSecrets, setWantsSecrets] = useState(false);
  const unmasked = maySeeSecrets && wantsSecrets;
  const { data } = useInfiniteQuery(revisionsQuery(useTenantApi(), id));
  const revisions = useMemo(() => data?.pages.flatMap(({ revisions }) => revisions) ?? [], [data]);
  const isBuild = filters.source === 'build';
  const built = isBuild ? revisions.filter(({ build }) => build !== null) : revisions;
  const revision = filters.revision ?? (isBuild ? built[0]?.id : undefined);
  const request: LogRequest = {
    ...filters,
    ...(revision === undefined ? {} : { revision }),
    ...(unmasked ? { unmasked: 'true' } : {}),
  };
  const onChange = (search: LogFilters) =>
    void navigate({ to: ROUTE, params: { tenantId, deploymentId: id }, search, replace: true });
  const filterBar = (lines: LogLines) => (
    <LogFilterBar
      filters={{ ...filters, ...(revision === undefined ? {} : { revision }) }}
      onChange={onChange}
      unmasked={maySeeSecrets ? unmasked : null}
      onUnmask={setWantsSecrets}
      revisions={built}
      containers={containersOf(lines)}
    />
  );
  const hasLog = !isBuild || revision !== undefined;
  return (
    <Section
      id="logs"
      title="Logs"
      command={
        hasLog && (
          <ShowCommand
            title="Read these logs"
            request={{ path: logPath(id, request), tenantId }}
            berth={logCommand(name, request)}
          />
        )
      }
    >
      {hasLog ? (
        <Reader filters={filters} request={request} filterBar={filterBar} />
      ) : (
        <>
          {filterBar(NO_LINES)}
          <Empty title="No revision of this deployment was built" />
        </>
      )}
    </Section>
  );
}
