import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { deploymentKey } from '../api/keys.ts';
import type { Deployment } from '../api/types.ts';
import { ShowCommand } from '../commands/show-command.tsx';
import { useScope } from '../session/use-scope.ts';
import { useTenantApi } from '../shell/tenant-context.ts';
import { ActionDialog } from '../ui/action-dialog.tsx';
import styles from './change.module.css';
import { deleteCommand } from './commands.ts';
import type { DeleteOptions } from './request-parts.ts';
import { deleteDeployment } from './requests.ts';

interface OptionProps {
  readonly label: string;
  readonly isChecked: boolean;
  readonly onChange: (isChecked: boolean) => void;
}

const Option = ({ label, isChecked, onChange }: OptionProps) => (
  <p className={styles['check']}>
    <label>
      <input type="checkbox" checked={isChecked} onChange={({ target }) => onChange(target.checked)} />{' '}
      {label}
    </label>
  </p>
);

/** What the deletion does. */
function consequence({ keepsWorkloads, isForced }: DeleteOptions): string {
  if (isForced)
    return 'The deployment is removed from Berth at once, without waiting for its cluster. This is for a cluster that no longer exists.';
  return keepsWorkloads
    ? 'The deployment is removed from Berth. Its workloads and data stay in the cluster. This cannot be cancelled.'
    : 'The deployment is deleted with its database and cache. If the platform has a grace period, no pods run during this time, and you can restore the deployment with its data. Otherwise the data is lost.';
}

const FIRST: DeleteOptions = { deletesTracingProject: false, keepsWorkloads: false, isForced: false };

/** Asks for the name before a deployment is deleted. */
export function DeleteButton({ deployment }: { readonly deployment: Deployment }) {
  const api = useTenantApi();
  const client = useQueryClient();
  const isAdmin = useScope('admin');
  const [options, setOptions] = useState(FIRST);
  const action = useMutation({
    mutationFn: () => deleteDeployment(api, deployment, options),
    onSuccess: () => void client.invalidateQueries({ queryKey: deploymentKey(api.tenantId, deployment.id) }),
  });
  return (
    <ActionDialog
      opens="Delete"
      title="Delete this deployment"
      acts="Delete"
      isDanger
      action={action}
      confirms={{ what: 'the deployment', name: deployment.name }}
      onClose={() => setOptions(FIRST)}
      command={<ShowCommand title="Delete this deployment" {...deleteCommand(deployment, options)} />}
    >
      <p>
        <strong>{deployment.name}</strong>
      </p>
      <p>{consequence(options)}</p>
      <Option
        label="Also delete its tracing project"
        isChecked={options.deletesTracingProject}
        onChange={(deletesTracingProject) => setOptions({ ...options, deletesTracingProject })}
      />
      {isAdmin && (
        <>
          <Option
            label="Leave the workloads and the data in the cluster"
            isChecked={options.keepsWorkloads}
            onChange={(keepsWorkloads) => setOptions({ ...options, keepsWorkloads, isForced: false })}
          />
          <Option
            label="Remove at once, for a cluster that no longer exists"
            isChecked={options.isForced}
            onChange={(isForced) => setOptions({ ...options, isForced, keepsWorkloads: false })}
          />
        </>
      )}
    </ActionDialog>
  );
}
