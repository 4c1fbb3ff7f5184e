import { useMutation } from '@tanstack/react-query';
import type { Deployment } from '../api/types.ts';
import type { Plan } from '../change/plan.ts';
import type { JsonObject } from '../form/json.ts';
import { useTenantApi } from '../shell/tenant-context.ts';
import { createDeployment, planCreation } from './requests.ts';

/** A creation that was planned. */
export interface PlannedCreation {
  readonly body: JsonObject;
  readonly plan: Plan;
  /** Repeated requests with this key create one deployment. */
  readonly key: string;
}

/**
 * Plans a creation, and creates the deployment.
 * @param onCreated called if the page is still shown
 */
export function useCreation(onCreated: (deployment: Deployment) => void) {
  const api = useTenantApi();
  const plan = useMutation({
    mutationFn: async (body: JsonObject): Promise<PlannedCreation> => ({
      body,
      plan: await planCreation(api, body),
      key: crypto.randomUUID(),
    }),
  });
  const create = useMutation({
    mutationFn: ({ body, key }: PlannedCreation) => createDeployment(api, body, key),
  });
  return {
    plan,
    create: {
      isPending: create.isPending,
      reset: create.reset,
      // Callbacks of `mutate` are called only while the page is shown, so that a person who has left is not brought to another page.
      mutate: (planned: PlannedCreation) => create.mutate(planned, { onSuccess: onCreated }),
    },
    error: create.error ?? plan.error,
  };
}
