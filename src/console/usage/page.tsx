import { queryOptions, useQuery } from '@tanstack/react-query';
import { read, type TenantApi } from '../api/client.ts';
import { tenantKey } from '../api/keys.ts';
import type { Usage } from '../api/types.ts';
import { commandLine } from '../commands/commands.ts';
import { ShowCommand } from '../commands/show-command.tsx';
import { StaleNotice } from '../live/stale-notice.tsx';
import { useEachChange } from '../live/use-each-change.ts';
import { useFreshness } from '../live/use-freshness.ts';
import { Page } from '../shell/page.tsx';
import { useTenantApi } from '../shell/tenant-context.ts';
import { Loading } from '../ui/loading.tsx';
import { StateMark } from '../ui/mark.tsx';
import { ProblemNotice } from '../ui/problem-notice.tsx';
import { ScrollTable } from '../ui/scroll-table.tsx';
import { type AmountRow, amountRows, amountState, amountText } from './amounts.ts';

const usageQuery = (api: TenantApi) =>
  queryOptions({
    queryKey: tenantKey(api.tenantId, 'usage'),
    queryFn: ({ signal }) => read(api.GET('/v2/usage', { signal })),
  });

function Row({ row, isStale }: { readonly row: AmountRow; readonly isStale: boolean }) {
  const { name, unit, used, quota } = row;
  const { tone, text } = amountState(row);
  return (
    <tr>
      <th scope="row">{name}</th>
      <td>{amountText(used, unit)}</td>
      <td>{quota === null ? 'no limit' : amountText(quota, unit)}</td>
      <td>
        <StateMark tone={tone} text={text} isStale={isStale} />
      </td>
    </tr>
  );
}

/** What counts although no deployment shows it. */
function Hidden({ usage: { being_deleted: leaving, kept_storage_gi: kept } }: Usage) {
  return (
    <>
      {leaving > 0 && (
        <p>
          {leaving} {leaving === 1 ? 'deployment is' : 'deployments are'} being deleted. The volumes of these
          deployments count until the deletion ends.
        </p>
      )}
      {kept !== undefined && kept > 0 && (
        <p>{kept} GiB of the storage are volumes of databases that are switched off.</p>
      )}
    </>
  );
}

/** The usage of a tenant, and its quotas. */
export function UsagePage() {
  const api = useTenantApi();
  const options = usageQuery(api);
  const query = useQuery(options);
  useEachChange(options.queryKey);
  const freshness = useFreshness(query);
  const command = (
    <ShowCommand
      title="Show the usage"
      request={{ path: '/v2/usage', tenantId: api.tenantId }}
      berth={commandLine('berth', 'usage')}
    />
  );
  return (
    <Page title="Usage" actions={command}>
      {query.error !== null && <ProblemNotice error={query.error} onRetry={() => void query.refetch()} />}
      <StaleNotice freshness={freshness} />
      {query.isPending && <Loading what="the usage" />}
      {query.data !== undefined && (
        <>
          <ScrollTable label="Usage" columns={['What', 'Used', 'Quota', 'State']}>
            {amountRows(query.data).map((row) => (
              <Row key={row.name} row={row} isStale={freshness.isStale} />
            ))}
          </ScrollTable>
          <Hidden {...query.data} />
        </>
      )}
    </Page>
  );
}
