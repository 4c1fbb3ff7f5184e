import { useMutation } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import type { Task } from '../api/types.ts';
import { useTenantApi } from '../shell/tenant-context.ts';

/** An action of a dialog that creates a task of a deployment, and opens its page. */
export function useTaskAction(deploymentId: string, createTask: () => Promise<Task>) {
  const { tenantId } = useTenantApi();
  const navigate = useNavigate();
  const action = useMutation({ mutationFn: createTask });
  // Callbacks of `mutate` are called only while the page is shown, so that a person who has left is not brought to another page.
  const mutate: typeof action.mutate = (variables, options) =>
    action.mutate(variables, {
      ...options,
      onSuccess: (task, ...rest) => {
        options?.onSuccess?.(task, ...rest);
        const params = { tenantId, deploymentId, taskId: task.id };
        void navigate({ to: '/t/$tenantId/deployments/$deploymentId/tasks/$taskId', params });
      },
    });
  return { ...action, mutate };
}
