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
  const owner = ownerReference({ name, uid });
  return { ownerReferences: [{ ...owner, controller: true, blockOwnerDeletion: true }] };
}

/** The owner reference of an object that the custom resource owns, but does not control. */
export function ownerReference({ name, uid }: { readonly name: string; readonly uid: string }) {
  const { apiVersion, kind } = MANAGED_DEPLOYMENT;
  return { apiVersion, kind, name, uid };
}

/**
 * Whether volume, credentials and stored templates are deleted with the custom resource. Only the hub deletes the data
 * of its deployments, because the right to edit a custom resource must not be sufficient to delete its data.
 */
export function ownsData({ spec }: ManagedDeployment): boolean {
  return spec.database.volumePolicy === 'Delete' && spec.deploymentId === undefined;
}
