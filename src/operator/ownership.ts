import type { ManagedDeployment, ManagedDeploymentStatus } from '../contract/managed-deployment.ts';
import { LABELS, MANAGED_BY } from '../contract/names.ts';
import type { Condition } from '../domain/conditions.ts';
import { controllerOf, type KubeObject } from '../kube/object.ts';
import { identityValue, labelValue } from '../workloads/labels.ts';
import { app } from '../workloads/names.ts';

/**
 * Whether an object carries our mark for this deployment. Nothing else is ever changed or removed.
 *
 * The mark is the owner reference, or Berth's labels with the deployment's id. A name is no mark (decision 0061). One
 * exception: a resource without a record that an earlier version gave the objects of its name keeps them, because the
 * operator has recorded in the status that it runs them.
 */
export function isOurs(object: KubeObject, resource: ManagedDeployment): boolean {
  const { labels } = object.metadata;
  const owner = controllerOf(object);
  if (owner !== undefined && owner.uid === resource.metadata.uid) return true;
  if (labels?.[LABELS.managedBy] !== MANAGED_BY) return false;
  if (labels[LABELS.deploymentId] === identityValue(resource)) return true;
  const sameName = labels[LABELS.instance] === labelValue(app(resource));
  return resource.spec.deploymentId === undefined && owner === undefined && sameName && isAccepted(resource);
}

/**
 * Whether the operator has accepted the identity of this resource before. The status says so, and only the operator can
 * write it: who may create and change custom resources may not change their status.
 */
export function isAccepted(resource: KubeObject): boolean {
  const { status } = resource as KubeObject & { status?: ManagedDeploymentStatus };
  const { observedSpecGeneration, conditions = [] } = status ?? {};
  return observedSpecGeneration !== undefined && !isHeldUp(conditions);
}

/** Whether nothing is done for a resource because of its identity: then every condition says so. */
export function isHeldUp(conditions: readonly Condition[]): boolean {
  return (
    conditions.some(
      ({ type, status, reason }) => type === 'Ready' && status === 'False' && isOfIdentity(reason),
    ) && conditions.every(({ reason }) => isOfIdentity(reason))
  );
}

const isOfIdentity = (reason: string) => reason === 'Conflict' || reason === 'TakingOver';

/** Made for an earlier custom resource of this deployment: the garbage collector removes it, unless we want it. */
export function isOfEarlierResource(object: KubeObject, resource: ManagedDeployment): boolean {
  const owner = controllerOf(object);
  return owner !== undefined && owner.uid !== resource.metadata.uid;
}
