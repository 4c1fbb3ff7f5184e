import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { deploymentKey } from '../api/keys.ts';
import { Problem } from '../api/problem.ts';
import type { Deployment } from '../api/types.ts';
import type { JsonObject } from '../form/json.ts';
import { useTenantApi } from '../shell/tenant-context.ts';
import type { Plan } from './plan.ts';
import { applyChange, planChange } from './requests.ts';

/** A change that was planned. */
export interface Planned {
  /** The deployment that the change is for, as it was when the plan was made. */
  readonly deployment: Deployment;
  readonly patch: JsonObject;
  readonly plan: Plan;
  /** The objects without the change; null: not known. */
  readonly before: Plan['manifests'];
}

interface Request {
  readonly deployment: Deployment;
  readonly patch: JsonObject;
}

/** Opens the overview of a deployment, which follows a change to its end. */
export function useFollow() {
  const navigate = useNavigate();
  return ({ id, tenant_id: tenantId, generation }: Pick<Deployment, 'id' | 'tenant_id' | 'generation'>) =>
    navigate({
      to: '/t/$tenantId/deployments/$deploymentId',
      params: { tenantId, deploymentId: id },
      search: { follow: String(generation) },
    });
}

/**
 * Plans a change, and applies it.
 * @param onApplied called if the page is still shown
 */
export function useChange(onApplied: (deployment: Deployment) => void) {
  const api = useTenantApi();
  const client = useQueryClient();
  // Someone else has changed the deployment. The page then shows what.
  const requestNewest = (error: Error, { deployment }: Request) => {
    if (!(error instanceof Problem) || error.status === null || ![404, 409, 412].includes(error.status))
      return;
    void client.invalidateQueries({
      queryKey: deploymentKey(deployment.tenant_id, deployment.id),
      exact: true,
    });
  };
  const plan = useMutation({
    mutationFn: async ({ deployment, patch }: Request): Promise<Planned> => {
      const unchanged = planChange(api, deployment, {}).then(
        ({ manifests }) => manifests ?? null,
        () => null,
      );
      const result = await planChange(api, deployment, patch);
      return { deployment, patch, plan: result, before: await unchanged };
    },
    onError: requestNewest,
  });
  const apply = useMutation({
    mutationFn: ({ deployment, patch }: Request) => applyChange(api, deployment, patch),
    onError: requestNewest,
    onSuccess: (changed) => {
      void client.invalidateQueries({ queryKey: deploymentKey(changed.tenant_id, changed.id) });
    },
  });
  return {
    plan,
    apply: {
      isPending: apply.isPending,
      // Callbacks of `mutate` are called only while the page is shown, so that a person who has left is not brought to another page.
      mutate: (request: Request) => apply.mutate(request, { onSuccess: onApplied }),
    },
    error: apply.error ?? plan.error,
    requestPlan: (request: Request) => {
      apply.reset();
      plan.mutate(request);
    },
    reset: () => {
      plan.reset();
      apply.reset();
    },
  };
}

export type Change = ReturnType<typeof useChange>;
