import { useInfiniteQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { commandLine } from '../commands/commands.ts';
import { ShowCommand } from '../commands/show-command.tsx';
import { ListPage } from '../list/list-page.tsx';
import { useTenantApi } from '../shell/tenant-context.ts';
import { Time } from '../ui/time.tsx';
import styles from './platform.module.css';
import { tenantPagesQuery } from './queries.ts';
import { limitsText } from './quota-form.ts';
import { CreateTenant, DeleteTenant, EditQuotas } from './tenant-actions.tsx';

/** All tenants with their quotas. */
export function TenantsPage() {
  const api = useTenantApi();
  return (
    <ListPage
      title="Tenants and quotas"
      what="the tenants"
      columns={['Tenant', 'Quotas in force', 'Created', 'Actions']}
      query={useInfiniteQuery(tenantPagesQuery(api))}
      empty="There is no tenant"
      actions={
        <>
          <CreateTenant />
          <ShowCommand
            title="List the tenants"
            request={{ path: '/v2/tenants', tenantId: api.tenantId }}
            berth={commandLine('berth', 'tenants', 'list')}
          />
        </>
      }
      row={(tenant) => (
        <tr key={tenant.id}>
          <th scope="row">
            <Link to="/t/$tenantId/usage" params={{ tenantId: tenant.id }}>
              {tenant.name}
            </Link>
          </th>
          <td>{limitsText(tenant.quotas_in_force)}</td>
          <td>
            <Time at={tenant.created_at} />
          </td>
          <td>
            <div className={styles['actions']}>
              <EditQuotas tenant={tenant} />
              <DeleteTenant tenant={tenant} />
            </div>
          </td>
        </tr>
      )}
    />
  );
}
