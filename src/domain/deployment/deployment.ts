import type { Condition } from '../conditions/conditions.ts';
import type { Ceilings } from '../resource-spec/effective-spec.ts';
import type { ResourceSpec } from '../resource-spec/resource-spec.ts';
import type { RevisionStatus } from '../revision/states.ts';
import type { DeploymentType, Source } from './source.ts';

/** Where a deployment goes that names no namespace, through a listener that has no list of its own. */
export const FALLBACK_NAMESPACE = 'default';

/** source_config as stored: every field present, unset is null. Names are the contract's (seed). */
export interface SourceConfig {
  integration_id: string | null;
  repo_url: string | null;
  deployment_type: DeploymentType | null;
  build_on_push: boolean | null;
  custom_url: string | null;
  resource_spec: ResourceSpec | null;
  listener_id: string | null;
  listener_config: { cluster_namespace: string | null } | null;
  install_command: string | null;
  build_command: string | null;
  /** Set by the server, not shown: what the policy then left defaults. Absent: it bends none. */
  default_ceilings?: Ceilings | undefined;
}

/** source_revision_config as stored. `repo_commit_sha` is only ever set by the server. */
export interface SourceRevisionConfig {
  repo_ref: string | null;
  workflow_config_path: string | null;
  image_uri: string | null;
  repo_commit_sha: string | null;
}

/** A secret of a revision: an environment variable of the app container. Values never leave store, api and listener. */
export interface Secret {
  name: string;
  value: string;
}

/** What the cluster last reported of a deployment. */
export interface Observation {
  /** The hub's generation that the operator had seen. */
  generation: number;
  conditions: Condition[];
  url: string | null;
  /** Everything switched off, seen so. */
  off: boolean;
  /** Database and cache ready (or external). */
  dataReady: boolean;
  observedAt: Date;
}

/** A deployment as the hub keeps it. */
export interface Deployment {
  id: string;
  tenantId: string;
  name: string;
  source: Source;
  sourceConfig: SourceConfig;
  /** Raised by each change of what is wanted; starts at 1. */
  generation: number;
  /** Base name of all Kubernetes objects, fixed at creation (see workloads/names.ts). */
  appName: string;
  /** Namespace in the listener's cluster, fixed at creation. */
  namespace: string;
  listenerId: string;
  tracingProjectId: string;
  latestRevisionId: string | null;
  activeRevisionId: string | null;
  createdAt: Date;
  updatedAt: Date;
  /** When deletion was asked for; null while it is wanted. */
  deleteRequestedAt: Date | null;
  /** End of the deletion's grace: until then it can be restored. null while it is wanted. */
  purgeAfter: Date | null;
  observation: Observation | null;
}

/** A revision: one immutable version of source_revision_config and secrets. */
export interface Revision {
  id: string;
  deploymentId: string;
  /** 1, 2, 3 … within the deployment. */
  number: number;
  status: RevisionStatus;
  reason: string | null;
  message: string | null;
  sourceRevisionConfig: SourceRevisionConfig;
  /** Digest-pinned image, where it could be resolved or was built. */
  resolvedImage: string | null;
  createdAt: Date;
  updatedAt: Date;
  deployedAt: Date | null;
}
