import { lazy, useState } from 'react';
import type { Deployment } from '../api/types.ts';
import { useScope } from '../session/use-scope.ts';
import { Button } from '../ui/button.tsx';
import { LatePart } from '../ui/late/late-part.tsx';
import { loadPart } from '../ui/late/missing-part.ts';
import { DeleteButton } from './delete-button.tsx';
import { RestoreButton } from './restore-button.tsx';

/** The plan shows objects as YAML, which the page of a deployment does not need otherwise. */
const ScaleDialog = lazy(() =>
  loadPart(() => import('./scale-dialog.tsx').then((module) => ({ default: module.ScaleDialog }))),
);

function ScaleButton({ deployment }: { readonly deployment: Deployment }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <Button aria-haspopup="dialog" onClick={() => setOpen(true)}>
        Scale
      </Button>
      {isOpen && (
        <LatePart>
          <ScaleDialog deployment={deployment} onClose={() => setOpen(false)} />
        </LatePart>
      )}
    </>
  );
}

/** The actions that change a deployment. They are hidden from sessions that may not change it. */
export function DeploymentActions({ deployment }: { readonly deployment: Deployment }) {
  const mayWrite = useScope('deployments:write');
  const isAdmin = useScope('admin');
  if (!mayWrite) return null;
  const isBeingDeleted = deployment.status === 'AWAITING_DELETE';
  return (
    <>
      {isBeingDeleted ? <RestoreButton deployment={deployment} /> : <ScaleButton deployment={deployment} />}
      {/* An admin can still force the end of a deletion, or keep the workloads. */}
      {(!isBeingDeleted || isAdmin) && <DeleteButton deployment={deployment} />}
    </>
  );
}
