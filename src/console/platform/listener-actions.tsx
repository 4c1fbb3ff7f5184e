import { useMutation } from '@tanstack/react-query';
import { read } from '../api/client.ts';
import type { Listener } from '../api/types.ts';
import { commandLine } from '../commands/commands.ts';
import { ShowCommand } from '../commands/show-command.tsx';
import { useTenantApi } from '../shell/tenant-context.ts';
import { ActionDialog } from '../ui/action-dialog.tsx';
import { isolated } from '../ui/isolated.ts';
import { useRequestAgain } from './use-request-again.ts';

interface ListenerActionProps {
  readonly listener: Listener;
}

/** Lets the next cluster take the lease, for a cluster that was rebuilt. */
export function ForgetCluster({ listener: { id, compute_id: name } }: ListenerActionProps) {
  const api = useTenantApi();
  const body = { cluster_id: null };
  const params = { path: { listener_id: id } };
  const action = useMutation({
    // The types of openapi-fetch leave out members that can only be null.
    mutationFn: () => read(api.PATCH('/v2/listeners/{listener_id}', { params, body: body as object })),
    onSuccess: useRequestAgain(),
  });
  const request = { method: 'PATCH', path: `/v2/listeners/${id}`, tenantId: api.tenantId, body } as const;
  return (
    <ActionDialog
      opens="Forget the cluster"
      of={`of ${name}`}
      title={`Forget the cluster of ${isolated(name)}`}
      acts="Forget the cluster"
      isDanger
      action={action}
      command={
        <ShowCommand
          title="Forget the cluster"
          request={request}
          berth={commandLine('berth', 'listeners', 'update', name, '--forget-cluster')}
        />
      }
    >
      <p>
        The next cluster that takes the lease is bound to this listener, and gets all its deployments. Do this
        only if the cluster was rebuilt.
      </p>
    </ActionDialog>
  );
}

export function DeleteListener({ listener: { id, compute_id: name } }: ListenerActionProps) {
  const api = useTenantApi();
  const params = { path: { listener_id: id } };
  const action = useMutation({
    mutationFn: () => read(api.DELETE('/v2/listeners/{listener_id}', { params })),
    onSuccess: useRequestAgain(),
  });
  return (
    <ActionDialog
      opens="Delete"
      of={name}
      title={`Delete the listener ${isolated(name)}`}
      acts="Delete the listener"
      isDanger
      action={action}
      command={
        <ShowCommand
          title="Delete the listener"
          request={{ method: 'DELETE', path: `/v2/listeners/${id}`, tenantId: api.tenantId }}
          berth={commandLine('berth', 'listeners', 'delete', name)}
        />
      }
    >
      <p>A listener with deployments cannot be deleted. The calls of one that still runs are rejected.</p>
    </ActionDialog>
  );
}
