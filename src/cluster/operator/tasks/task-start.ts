import type { V1PodTemplateSpec } from '@kubernetes/client-node';
import type { DeploymentTaskSpec } from '../../../contract/resource/deployment-task.ts';
import { compareQuantities } from '../../../domain/kubernetes/quantity.ts';
import { largestCaps, type Policy } from '../../../domain/policy/policy.ts';
import type { TaskDeployment } from './observed-task.ts';

/** Whether a task may start, and with which template. Pure. */

/** Why the policy does not allow the task; null: it does. The message names the field. */
export function taskRefusal({ origin, cpu, memory }: DeploymentTaskSpec, policy: Policy): string | null {
  if (origin === 'custom-resource' && !policy.tasks.by_custom_resource)
    return 'spec.origin: the policy (tasks.by_custom_resource) allows only tasks of the API';
  const caps = largestCaps(policy);
  if (cpu !== undefined && compareQuantities(cpu, String(caps.cpu)) > 0)
    return `spec.cpu: must be at most ${caps.cpu} (caps.cpu of the policy)`;
  if (memory !== undefined && compareQuantities(memory, `${caps.memory_mb}Mi`) > 0)
    return `spec.memory: must be at most ${caps.memory_mb}Mi (caps.memory_mb of the policy)`;
  return null;
}

/** The revision of a task, with the template of its component. */
export type ChosenRevision =
  | {
      readonly revision: { readonly number: number; readonly id: string };
      /** undefined: the revision has no such component. */
      readonly template: V1PodTemplateSpec | undefined;
    }
  /** Why the revision can never run. */
  | { readonly revision?: undefined; readonly gone: string };

/** null: the deployment does not have the revision yet. */
export function chosenRevision(
  { revision, component }: Pick<DeploymentTaskSpec, 'revision' | 'component'>,
  { isAccepted, active, stored }: TaskDeployment,
): ChosenRevision | null {
  if (!isAccepted) return null;
  const found =
    revision === undefined
      ? stored.find(({ name }) => name === active?.templates)
      : // Of several templates of the active revision, those that run.
        (stored.find(({ name, number }) => number === revision && name === active?.templates) ??
        stored.find(({ number }) => number === revision));
  if (found !== undefined) {
    const { number, id } = found;
    return { revision: { number, id }, template: found.templates()[component] };
  }
  const newest = Math.max(0, ...stored.map(({ number }) => number));
  if (revision === undefined || revision > newest) return null;
  return { gone: `the cluster no longer has the pods of revision ${revision}` };
}
