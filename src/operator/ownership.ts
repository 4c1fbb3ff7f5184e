import type { ManagedDeployment } from '../contract/managed-deployment.ts';
import { LABELS, MANAGED_BY } from '../contract/names.ts';
import { controllerOf, type KubeObject } from '../kube/object.ts';
import { deploymentId, labelValue } from '../workloads/labels.ts';
import { app } from '../workloads/names.ts';

/**
 * Whether an object carries our mark for this deployment. Nothing else is ever changed or removed.
 *
 * The mark is the owner reference, or Berth's labels with the deployment's id. A resource without a record has no id
 * that survives it, so what outlived an earlier one of the same name (volume, credentials, stored templates) is known
 * by that name.
 */
export function isOurs(object: KubeObject, resource: ManagedDeployment): boolean {
  const { labels } = object.metadata;
  const owner = controllerOf(object);
  if (owner !== undefined && owner.uid === resource.metadata.uid) return true;
  if (labels?.[LABELS.managedBy] !== MANAGED_BY) return false;
  if (labels[LABELS.deploymentId] === labelValue(deploymentId(resource))) return true;
  const sameName = labels[LABELS.instance] === labelValue(app(resource));
  return resource.spec.deploymentId === undefined && owner === undefined && sameName;
}

/** Made for an earlier custom resource of this deployment: the garbage collector removes it, unless we want it. */
export function isOfEarlierResource(object: KubeObject, resource: ManagedDeployment): boolean {
  const owner = controllerOf(object);
  return owner !== undefined && owner.uid !== resource.metadata.uid;
}

/**
 * Whose deployment it is where several custom resources of a namespace carry its id: a copied manifest would put its pods
 * behind the other's Services. It is the one that the listener named, else the one that was there first.
 * @returns the name of the other one; null: it is this one's
 */
export function rightfulOther(
  resource: KubeObject,
  deploymentId: string,
  all: readonly KubeObject[],
): string | null {
  if (all.length < 2) return null;
  const suffix = `-${deploymentId.replaceAll('-', '').slice(-8)}`;
  const rank = ({ metadata }: KubeObject) =>
    `${metadata.name.endsWith(suffix) ? 0 : 1} ${metadata.creationTimestamp ?? ''} ${metadata.name}`;
  const [first] = [...all].sort((a, b) => (rank(a) < rank(b) ? -1 : 1));
  return first === undefined || first.metadata.name === resource.metadata.name ? null : first.metadata.name;
}
