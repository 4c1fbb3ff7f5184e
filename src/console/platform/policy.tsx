import { useQuery } from '@tanstack/react-query';
import { policyQuery } from '../api/policy.ts';
import { ShowCommand } from '../commands/show-command.tsx';
import { StaleNotice } from '../live/stale-notice.tsx';
import { useFreshness } from '../live/use-freshness.ts';
import { Page } from '../shell/page.tsx';
import { useTenantApi } from '../shell/tenant-context.ts';
import { Loading } from '../ui/loading.tsx';
import { ProblemNotice } from '../ui/problem-notice.tsx';
import { ScrollTable } from '../ui/scroll-table.tsx';
import styles from './platform.module.css';
import { policyRows } from './policy-rows.ts';

/** What clients may configure in this installation. */
export function PolicyPage() {
  const api = useTenantApi();
  const query = useQuery(policyQuery(api));
  const freshness = useFreshness(query);
  const command = (
    <ShowCommand title="Show the policy" request={{ path: '/v2/policy', tenantId: api.tenantId }} />
  );
  return (
    <Page title="Policy" actions={command}>
      <p>
        The effective policy: the default of the hosting mode, with the changes of the policy file. The page
        Usage shows the quotas of the tenant.
      </p>
      {query.error !== null && <ProblemNotice error={query.error} onRetry={() => void query.refetch()} />}
      <StaleNotice freshness={freshness} />
      {query.isPending && <Loading what="the policy" />}
      {query.data !== undefined && (
        <ScrollTable label="Policy" columns={['Entry', 'Value']}>
          {policyRows(query.data).map(({ entry, value }) => (
            <tr key={entry}>
              <th scope="row">
                <code>{entry}</code>
              </th>
              <td>
                <pre className={styles['value']}>{value}</pre>
              </td>
            </tr>
          ))}
        </ScrollTable>
      )}
    </Page>
  );
}
