import type { V1OwnerReference } from '@kubernetes/client-node';
import { MANAGED_DEPLOYMENT, type ManagedDeployment } from '../contract/resource/managed-deployment.ts';

/**
 * The owner reference of an owned object. Empty without a uid (API dry run: nothing is in the cluster yet).
 * `blockOwnerDeletion`: a foreground delete of the custom resource waits until the object is gone.
 */
export function ownerReferences(resource: ManagedDeployment): { ownerReferences?: V1OwnerReference[] } {
  const { name, uid } = resource.metadata;
  if (uid === undefined) return {};
  const { apiVersion, kind } = MANAGED_DEPLOYMENT;
  return { ownerReferences: [{ apiVersion, kind, name, uid, controller: true, blockOwnerDeletion: true }] };
}

/**
 * Whether volume, credentials and stored templates are deleted with the custom resource. Data of a deployment with a
 * record is deleted by the hub alone: who can only edit its custom resource must not be able to delete its data.
 */
export function ownsData({ spec }: ManagedDeployment): boolean {
  return spec.database.volumePolicy === 'Delete' && spec.deploymentId === undefined;
}
