import { lazy, Suspense, useState } from 'react';
import type { Deployment } from '../api/types.ts';
import { useScope } from '../session/use-scope.ts';
import { Button } from '../ui/button.tsx';
import { RestoreButton } from './restore-button.tsx';

/** The plan shows objects as YAML, which the page of a deployment does not need otherwise. */
const ScaleDialog = lazy(() =>
  import('./scale-dialog.tsx').then((module) => ({ default: module.ScaleDialog })),
);
const DeleteDialog = lazy(() =>
  import('./delete-dialog.tsx').then((module) => ({ default: module.DeleteDialog })),
);

/** The actions that change a deployment. They are hidden from sessions that may not change it. */
export function DeploymentActions({ deployment }: { readonly deployment: Deployment }) {
  const [open, setOpen] = useState<'scale' | 'delete' | null>(null);
  const close = () => setOpen(null);
  const mayWrite = useScope('deployments:write');
  const isAdmin = useScope('admin');
  if (!mayWrite) return null;
  const isBeingDeleted = deployment.status === 'AWAITING_DELETE';
  return (
    <>
      {isBeingDeleted ? (
        <RestoreButton deployment={deployment} />
      ) : (
        <Button aria-haspopup="dialog" onClick={() => setOpen('scale')}>
          Scale
        </Button>
      )}
      {/* An admin can still force the end of a deletion, or keep the workloads. */}
      {(!isBeingDeleted || isAdmin) && (
        <Button variant="danger" aria-haspopup="dialog" onClick={() => setOpen('delete')}>
          Delete
        </Button>
      )}
      <Suspense>
        {open === 'scale' && <ScaleDialog deployment={deployment} onClose={close} />}
        {open === 'delete' && <DeleteDialog deployment={deployment} onClose={close} />}
      </Suspense>
    </>
  );
}
