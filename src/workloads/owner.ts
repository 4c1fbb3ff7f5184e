import type { V1OwnerReference } from '@kubernetes/client-node';
import { MANAGED_DEPLOYMENT, type ManagedDeployment } from '../contract/managed-deployment.ts';

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
