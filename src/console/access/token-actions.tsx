import { useMutation, useQueryClient } from '@tanstack/react-query';
import { platformApi, read } from '../api/client.ts';
import type { AccessToken } from '../api/types.ts';
import { commandLine } from '../commands/commands.ts';
import { ShowCommand } from '../commands/show-command.tsx';
import { requestAgain } from '../live/request-again.ts';
import { useTenantApi } from '../shell/tenant-context.ts';
import { ActionDialog } from '../ui/action-dialog.tsx';
import { isolated } from '../ui/isolated.ts';

/** Requests lists of tokens again, because the stream of changes does not report them. */
function useTokensAgain(): () => void {
  const client = useQueryClient();
  return () => requestAgain(client, (key) => key[2] === 'tokens');
}

export function RevokeToken({ token: { id, name, kind } }: { readonly token: AccessToken }) {
  const api = useTenantApi();
  const action = useMutation({
    mutationFn: () => read(api.DELETE('/v2/auth/tokens/{token_id}', { params: { path: { token_id: id } } })),
    onSuccess: useTokensAgain(),
  });
  return (
    <ActionDialog
      opens="Revoke"
      of={name}
      title={`Revoke the access token of ${isolated(name)}`}
      acts="Revoke the token"
      isDanger
      action={action}
      command={
        <ShowCommand
          title="Revoke the access token"
          request={{ method: 'DELETE', path: `/v2/auth/tokens/${id}`, tenantId: api.tenantId }}
          berth={commandLine('berth', 'tokens', 'revoke', id)}
        />
      }
    >
      <p>
        {kind === 'workload'
          ? 'The pipeline can get another token.'
          : 'The machine must log in again with berth login.'}{' '}
        Streams that the token opened end within 5 seconds.
      </p>
    </ActionDialog>
  );
}

interface SignOutPersonProps {
  readonly personId: string;
  /** Name of the token, for screen readers. */
  readonly machine: string;
}

/** Ends all sessions and tokens of a person. */
export function SignOutPerson({ personId, machine }: SignOutPersonProps) {
  const { tenantId } = useTenantApi();
  const path = `/v2/auth/people/${personId}/sign-out`;
  const action = useMutation({
    mutationFn: () =>
      read(
        platformApi.POST('/v2/auth/people/{person_id}/sign-out', {
          params: { path: { person_id: personId } },
        }),
      ),
    onSuccess: useTokensAgain(),
  });
  return (
    <ActionDialog
      opens="Sign the person out"
      of={`of ${machine}`}
      title="Sign the person out"
      acts="Sign out"
      isDanger
      action={action}
      command={
        <ShowCommand
          title="Sign the person out"
          request={{ method: 'POST', path, tenantId }}
          berth={commandLine('berth', 'people', 'sign-out', personId)}
        />
      }
    >
      <p>
        Ends all sessions and access tokens of the person <code>{personId}</code>, in all tenants. The person
        can sign in again while one of the person's groups has a role.
      </p>
    </ActionDialog>
  );
}
