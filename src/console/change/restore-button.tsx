import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { deploymentKey } from '../api/keys.ts';
import type { Deployment } from '../api/types.ts';
import { ShowCommand } from '../commands/show-command.tsx';
import { useTenantApi } from '../shell/tenant-context.ts';
import { Button } from '../ui/button.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { ProblemNotice } from '../ui/problem-notice.tsx';
import styles from './change.module.css';
import { restoreCommand } from './commands.ts';
import { restoreDeployment } from './requests.ts';
import { useFollow } from './use-change.ts';

/** Cancels a deletion within its grace period. */
export function RestoreButton({ deployment }: { readonly deployment: Deployment }) {
  const api = useTenantApi();
  const client = useQueryClient();
  const follow = useFollow();
  const [isOpen, setOpen] = useState(false);
  const restore = useMutation({
    mutationFn: () => restoreDeployment(api, deployment),
    onSuccess: (restored) => {
      void client.invalidateQueries({ queryKey: deploymentKey(api.tenantId, deployment.id) });
      setOpen(false);
      void follow(restored);
    },
  });
  return (
    <>
      <Button variant="primary" aria-haspopup="dialog" onClick={() => setOpen(true)}>
        Restore
      </Button>
      <Dialog title={`Restore ${deployment.name}`} isOpen={isOpen} onClose={() => setOpen(false)}>
        <p>The deletion is cancelled. The deployment starts again with its data and its active revision.</p>
        {restore.error !== null && <ProblemNotice error={restore.error} />}
        <div className={styles['buttons']}>
          <Button variant="primary" isBusy={restore.isPending} onClick={() => restore.mutate()}>
            Restore
          </Button>
          <ShowCommand title="Restore this deployment" {...restoreCommand(deployment)} />
        </div>
      </Dialog>
    </>
  );
}
