import type { V1OwnerReference } from '@kubernetes/client-node';
import { MANAGED_DEPLOYMENT } from '../contract/resource/definition.ts';
import type { ManagedDeployment } from '../contract/resource/managed-deployment.ts';

/**
 * The owner reference of an owned object. The result is empty without a uid (API dry run). `blockOwnerDeletion`: a
 * foreground deletion of the custom resource waits until the object is deleted.
 */
export function ownerReferences(resource: ManagedDeployment): { ownerReferences?: V1OwnerReference[] } {
  const { name, uid } = resource.metadata;
  if (uid === undefined) return {};
  const { apiVersion, kind } = MANAGED_DEPLOYMENT;
  return { ownerReferences: [{ apiVersion, kind, name, uid, controller: true, blockOwnerDeletion: true }] };
}

/**
 * Whether volume, credentials and stored templates are deleted with the custom resource. Only the hub deletes the data
 * of its deployments, because the right to edit a custom resource must not be sufficient to delete its data.
 */
export function ownsData({ spec }: ManagedDeployment): boolean {
  return spec.database.volumePolicy === 'Delete' && spec.deploymentId === undefined;
}
