import { useInfiniteQuery, useMutation } from '@tanstack/react-query';
import { Link, useSearch } from '@tanstack/react-router';
import { keyState } from '../access/key-state.ts';
import { read } from '../api/client.ts';
import type { ApiKey } from '../api/types.ts';
import { commandLine } from '../commands/commands.ts';
import { ShowCommand } from '../commands/show-command.tsx';
import { ListPage } from '../list/list-page.tsx';
import { useTenantApi } from '../shell/tenant-context.ts';
import { ActionDialog } from '../ui/action-dialog.tsx';
import { isolated } from '../ui/isolated.ts';
import { StateMark } from '../ui/mark.tsx';
import { Time } from '../ui/time.tsx';
import { useNow } from '../ui/use-now.ts';
import { CreateKey } from './create-key.tsx';
import { keysQuery } from './queries.ts';
import { useRequestAgain } from './use-request-again.ts';

function RevokeKey({ apiKey: { id, name } }: { readonly apiKey: ApiKey }) {
  const api = useTenantApi();
  const params = { path: { api_key_id: id } };
  const action = useMutation({
    mutationFn: () => read(api.DELETE('/v2/api-keys/{api_key_id}', { params })),
    onSuccess: useRequestAgain(),
  });
  return (
    <ActionDialog
      opens="Revoke"
      of={name}
      title={`Revoke the key ${isolated(name)}`}
      acts="Revoke the key"
      isDanger
      action={action}
      command={
        <ShowCommand
          title="Revoke the key"
          request={{ method: 'DELETE', path: `/v2/api-keys/${id}`, tenantId: api.tenantId }}
          berth={commandLine('berth', 'api-keys', 'revoke', id)}
        />
      }
    >
      <p>The key works for up to 5 more seconds. This cannot be undone.</p>
    </ActionDialog>
  );
}

const COLUMNS = ['Name', 'State', 'Begins with', 'Scopes', 'Created', 'Expires', 'Last used', 'Actions'];

function Row({ apiKey, isStale }: { readonly apiKey: ApiKey; readonly isStale: boolean }) {
  const { name, prefix, scopes, created_at: createdAt, expires_at: expiresAt, last_used_at: usedAt } = apiKey;
  const state = keyState(apiKey, useNow());
  const tone = state === 'valid' ? 'good' : 'off';
  return (
    <tr>
      <th scope="row">{name}</th>
      <td>
        <StateMark tone={tone} text={state} isStale={isStale} />
      </td>
      <td>
        <code>{prefix}</code>
      </td>
      <td>{scopes.join(', ')}</td>
      <td>
        <Time at={createdAt} />
      </td>
      <td>{expiresAt === null ? 'never' : <Time at={expiresAt} />}</td>
      <td>{usedAt === null ? 'never' : <Time at={usedAt} />}</td>
      <td>{state === 'valid' && <RevokeKey apiKey={apiKey} />}</td>
    </tr>
  );
}

/** The API keys of the tenant or of the platform. */
export function KeysPage() {
  const api = useTenantApi();
  const { tenantId } = api;
  const isPlatform = useSearch({ from: '/t/$tenantId/platform/keys' }).owner === 'platform';
  const query = useInfiniteQuery(keysQuery(api, isPlatform));
  return (
    <ListPage
      title={isPlatform ? 'API keys of the platform' : 'API keys'}
      what="the API keys"
      columns={COLUMNS}
      query={query}
      empty="There is no API key"
      actions={
        <>
          <CreateKey isPlatform={isPlatform} />
          <ShowCommand
            title="List the API keys"
            request={{ path: `/v2/api-keys${isPlatform ? '?platform=true' : ''}`, tenantId }}
            berth={commandLine('berth', 'api-keys', 'list', ...(isPlatform ? ['--platform'] : []))}
          />
        </>
      }
      row={(apiKey, isStale) => <Row key={apiKey.id} apiKey={apiKey} isStale={isStale} />}
    >
      <p>
        <Link
          to="/t/$tenantId/platform/keys"
          params={{ tenantId }}
          search={isPlatform ? {} : { owner: 'platform' }}
        >
          {isPlatform ? 'Show the keys of the tenant' : 'Show the keys of the platform, which have no tenant'}
        </Link>
      </p>
    </ListPage>
  );
}
