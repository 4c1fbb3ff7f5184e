import type {
  ManagedDeployment,
  ManagedDeploymentStatus,
} from '../../../contract/resource/managed-deployment.ts';
import { LABELS, MANAGED_BY } from '../../../contract/resource/names.ts';
import type { Condition } from '../../../domain/conditions/conditions.ts';
import { identityValue, labelValue } from '../../../workloads/labels.ts';
import { app } from '../../../workloads/names.ts';
import { controllerOf, type KubeObject } from '../../kube/client/object.ts';

/**
 * Whether an object carries our mark for this deployment. Nothing else is ever changed or removed.
 *
 * The mark is the owner reference, or Berth's labels with the deployment's id (decision 0061). A resource without a record
 * has no id that survives it: one that was deleted by mistake and applied again finds what it has retained by its name.
 * That is for what resources without a record retained; what a deployment of the hub left is never found by a name.
 */
export function isOurs(object: KubeObject, resource: ManagedDeployment): boolean {
  const { labels } = object.metadata;
  const owner = controllerOf(object);
  if (owner !== undefined && owner.uid === resource.metadata.uid) return true;
  if (labels?.[LABELS.managedBy] !== MANAGED_BY) return false;
  if (isMarked(object, resource)) return true;
  const sameName = labels[LABELS.instance] === labelValue(app(resource));
  if (resource.spec.deploymentId !== undefined || owner !== undefined || !sameName) return false;
  // An earlier version gave other objects by name, too, and they stay where they are used.
  return LIKE_A_UID.test(labels[LABELS.deploymentId] ?? '') || isAccepted(resource);
}

/** Kubernetes makes uids of this version; the hub makes ids of version 7. */
export const LIKE_A_UID = /^[0-9a-f]{8}-[0-9a-f]{4}-4/i;

/** Whether it carries the identity of this resource. Only such an object is given an owner later. */
export function isMarked({ metadata: { labels } }: KubeObject, resource: ManagedDeployment): boolean {
  return labels?.[LABELS.deploymentId] === identityValue(resource);
}

/**
 * Whether the operator has accepted the identity of this resource before. The status says so, and only the operator can
 * write it: who may create and change custom resources may not change their status.
 */
export function isAccepted(resource: KubeObject): boolean {
  const { status } = resource as KubeObject & { status?: ManagedDeploymentStatus };
  const { observedSpecGeneration, conditions = [] } = status ?? {};
  return observedSpecGeneration !== undefined && !isBlockedByIdentity(conditions);
}

/** Whether nothing is done for a resource because of its identity: then every condition says so. */
export function isBlockedByIdentity(conditions: readonly Condition[]): boolean {
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
