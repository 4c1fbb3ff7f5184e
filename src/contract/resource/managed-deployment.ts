import type { MANAGED_DEPLOYMENT } from './definition.ts';
import type { ManagedDeploymentSpec } from './managed-deployment-spec.ts';
import type { ManagedDeploymentStatus } from './managed-deployment-status.ts';

// The entry point of the resource. The spec, the status and their parts are in separate files.
export { type ManagedDeploymentSpec, managedDeploymentSpecSchema } from './managed-deployment-spec.ts';
export {
  type ComponentStatus,
  componentStatusSchema,
  type ManagedDeploymentStatus,
  managedDeploymentStatusSchema,
  type RecordedSymptom,
} from './managed-deployment-status.ts';

/** The fields of object metadata that Berth reads. */
export interface ResourceMetadata {
  name: string;
  namespace: string;
  uid?: string;
  resourceVersion?: string;
  generation?: number;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  creationTimestamp?: string;
  deletionTimestamp?: string;
  finalizers?: string[];
}

/** The custom resource, as read from the cluster (possibly without status) or created by the listener (without uid). */
export interface ManagedDeployment {
  apiVersion: typeof MANAGED_DEPLOYMENT.apiVersion;
  kind: typeof MANAGED_DEPLOYMENT.kind;
  metadata: ResourceMetadata;
  spec: ManagedDeploymentSpec;
  status?: ManagedDeploymentStatus;
}
