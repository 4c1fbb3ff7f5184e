import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useRouter } from '@tanstack/react-router';
import { deploymentKey } from '../api/keys.ts';
import type { Deployment } from '../api/types.ts';
import { ShowCommand } from '../commands/show-command.tsx';
import { useTenantApi } from '../shell/tenant-context.ts';
import { ActionDialog } from '../ui/action-dialog.tsx';
import { restoreCommand } from './commands.ts';
import { restoreDeployment } from './requests.ts';
import { useFollow } from './use-change.ts';

/** Cancels a deletion within its grace period. */
export function RestoreButton({ deployment }: { readonly deployment: Deployment }) {
  const api = useTenantApi();
  const client = useQueryClient();
  const follow = useFollow();
  const router = useRouter();
  const path = () => router.state.location.pathname;
  const restore = useMutation({
    mutationFn: async () => {
      const start = path();
      return { start, restored: await restoreDeployment(api, deployment) };
    },
    onSuccess: ({ start, restored }) => {
      void client.invalidateQueries({ queryKey: deploymentKey(api.tenantId, deployment.id) });
      // This button disappears with the deletion, perhaps before the response. A person who has left the page stays where they are.
      if (path() === start) void follow(restored);
    },
  });
  return (
    <ActionDialog
      opens="Restore"
      title="Restore this deployment"
      acts="Restore"
      action={restore}
      command={<ShowCommand title="Restore this deployment" {...restoreCommand(deployment)} />}
    >
      <p>The deletion is cancelled. The deployment starts again with its data and its active revision.</p>
    </ActionDialog>
  );
}
