import type { ManagedDeploymentSpec } from './managed-deployment-spec.ts';
import type { ManagedDeploymentStatus } from './managed-deployment-status.ts';

// The one door to the resource: its spec, its status and their parts stand in files beside it.
export { type ManagedDeploymentSpec, managedDeploymentSpecSchema } from './managed-deployment-spec.ts';
export {
  type ComponentStatus,
  componentStatusSchema,
  MAX_SYMPTOMS,
  type ManagedDeploymentStatus,
  managedDeploymentStatusSchema,
  type RecordedSymptom,
} from './managed-deployment-status.ts';

/** API coordinates of the custom resource: the one contract between control plane and data plane. */
export const MANAGED_DEPLOYMENT = {
  group: 'berth.dev',
  version: 'v1alpha1',
  apiVersion: 'berth.dev/v1alpha1',
  kind: 'ManagedDeployment',
  plural: 'manageddeployments',
  singular: 'manageddeployment',
  shortName: 'mdep',
} as const;

/** Longest metadata.name: the longest suffix (`-orchestrator`) still leaves a label value of at most 63 characters. */
export const MAX_APP_NAME = 49;

/** Object metadata as far as Berth reads it. */
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

/** The custom resource, as read from the cluster (status may be absent) or built by the listener (no uid yet). */
export interface ManagedDeployment {
  apiVersion: typeof MANAGED_DEPLOYMENT.apiVersion;
  kind: typeof MANAGED_DEPLOYMENT.kind;
  metadata: ResourceMetadata;
  spec: ManagedDeploymentSpec;
  status?: ManagedDeploymentStatus;
}
