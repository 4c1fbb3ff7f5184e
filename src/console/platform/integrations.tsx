import { useInfiniteQuery } from '@tanstack/react-query';
import { commandLine } from '../commands/commands.ts';
import { ShowCommand } from '../commands/show-command.tsx';
import { ListPage } from '../list/list-page.tsx';
import { useScope } from '../session/use-scope.ts';
import { useTenantApi } from '../shell/tenant-context.ts';
import { Time } from '../ui/time.tsx';
import {
  CreateIntegration,
  CreateWebhookSecret,
  DeleteIntegration,
  ReplaceToken,
} from './integration-actions.tsx';
import styles from './platform.module.css';
import { integrationPagesQuery } from './queries.ts';

const COLUMNS = ['Name', 'Git host', 'Webhooks', 'Changed', 'Actions'];

/** The credentials of a tenant for git hosts, without their tokens. */
export function IntegrationsPage() {
  const api = useTenantApi();
  const mayWrite = useScope('deployments:write');
  return (
    <ListPage
      title="Integrations"
      what="the integrations"
      columns={mayWrite ? COLUMNS : COLUMNS.slice(0, -1)}
      query={useInfiniteQuery(integrationPagesQuery(api))}
      empty="The tenant has no integration"
      actions={
        <>
          {mayWrite && <CreateIntegration />}
          <ShowCommand
            title="List the integrations"
            request={{ path: '/v2/integrations', tenantId: api.tenantId }}
            berth={commandLine('berth', 'integrations', 'list')}
          />
        </>
      }
      row={(integration) => (
        <tr key={integration.id}>
          <th scope="row">{integration.name}</th>
          <td>
            <bdi>{integration.host_url}</bdi> ({integration.provider})
          </td>
          <td>{integration.takes_webhooks ? 'accepted' : 'rejected: no secret'}</td>
          <td>
            <Time at={integration.updated_at} />
          </td>
          {mayWrite && (
            <td>
              <div className={styles['actions']}>
                <ReplaceToken integration={integration} />
                <CreateWebhookSecret integration={integration} />
                <DeleteIntegration integration={integration} />
              </div>
            </td>
          )}
        </tr>
      )}
    />
  );
}
