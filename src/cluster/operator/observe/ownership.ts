import type {
  ManagedDeployment,
  ManagedDeploymentStatus,
} from '../../../contract/resource/managed-deployment.ts';
import { FIELD_MANAGERS, LABELS, MANAGED_BY } from '../../../contract/resource/names.ts';
import type { Condition } from '../../../domain/conditions/conditions.ts';
import { identityValue, labelValue } from '../../../workloads/labels.ts';
import { app } from '../../../workloads/names.ts';
import { controllerOf, type KubeObject, type ManagedFieldsEntry } from '../../kube/client/object.ts';
import { fieldsOfEntries, includesField, type ManagedFields } from '../../kube/compare/managed-fields.ts';

/**
 * Whether an object belongs to this deployment. The operator never changes or removes any other object.
 *
 * Ownership is the owner reference, or Berth's labels with the deployment's id (decision 0061). A resource applied by
 * hand gets a new uid when it is deleted by mistake and applied again. The new resource then finds its retained objects
 * by name. The search by name finds only objects that were retained from a resource applied by hand. Objects of a
 * deployment of the hub are never found by name.
 */
export function isOurs(object: KubeObject, resource: ManagedDeployment): boolean {
  const { labels } = object.metadata;
  const owner = controllerOf(object);
  if (owner !== undefined && owner.uid === resource.metadata.uid) return true;
  if (labels?.[LABELS.managedBy] !== MANAGED_BY) return false;
  if (isMarked(object, resource)) return true;
  const sameName = labels[LABELS.instance] === labelValue(app(resource));
  if (resource.spec.deploymentId !== undefined || owner !== undefined || !sameName) return false;
  // An earlier version also matched other objects by name. A resource that uses objects that were matched by name keeps
  // them.
  return LIKE_A_UID.test(labels[LABELS.deploymentId] ?? '') || isAccepted(resource);
}

/** Kubernetes creates UUIDs of version 4. The hub creates UUIDs of version 7. */
export const LIKE_A_UID = /^[0-9a-f]{8}-[0-9a-f]{4}-4/i;

/**
 * Whether an object has the identity label of this resource. Only an object with this label gets an owner reference
 * later.
 */
export function isMarked({ metadata: { labels } }: KubeObject, resource: ManagedDeployment): boolean {
  return labels?.[LABELS.deploymentId] === identityValue(resource);
}

/**
 * Whether the operator has accepted the identity of this resource before. The result is read from the status, which
 * only the operator can write, because users with write access to custom resources have no write access to the status
 * subresource.
 */
export function isAccepted(resource: KubeObject): boolean {
  const { status } = resource as KubeObject & { status?: ManagedDeploymentStatus };
  const { observedRecordGeneration, conditions = [] } = status ?? {};
  return observedRecordGeneration !== undefined && !isBlockedByIdentity(conditions);
}

/** Whether the identity check blocks a resource. Every condition then has a reason of that check. */
export function isBlockedByIdentity(conditions: readonly Condition[]): boolean {
  return (
    conditions.some(
      ({ type, status, reason }) => type === 'Ready' && status === 'False' && isOfIdentity(reason),
    ) && conditions.every(({ reason }) => isOfIdentity(reason))
  );
}

const isOfIdentity = (reason: string) => reason === 'Conflict' || reason === 'TakingOver';

/**
 * Whether an earlier custom resource of this deployment owns the object. The garbage collector removes the object
 * unless it is adopted.
 */
export function isOfEarlierResource(object: KubeObject, resource: ManagedDeployment): boolean {
  const owner = controllerOf(object);
  return owner !== undefined && owner.uid !== resource.metadata.uid;
}

/**
 * Field managers that stand for no user and no other controller: Berth, the controllers of Kubernetes, the two names that
 * the API server gives to fields without a known owner, and `kubectl rollout`, which copies a former template of Berth.
 */
const OWN_MANAGERS: ReadonlySet<string> = new Set([
  ...Object.values(FIELD_MANAGERS),
  'kube-controller-manager',
  'before-first-apply',
  'ancient-changes',
  'kubectl-rollout',
]);

/** A label that Berth sets on every object. A manager that owns this label has copied the whole object, as a restore does. */
const MARK_OF_COPIES = ['metadata', 'labels', LABELS.managedBy];

/** The fields that field managers other than Berth's set, without fields of the status. */
export function foreignFields(entries: readonly ManagedFieldsEntry[]): ManagedFields {
  return fieldsOfEntries(
    entries.filter(
      ({ manager = '', fieldsV1 }) =>
        !OWN_MANAGERS.has(manager) && !includesField((fieldsV1 ?? {}) as ManagedFields, MARK_OF_COPIES),
    ),
  );
}
