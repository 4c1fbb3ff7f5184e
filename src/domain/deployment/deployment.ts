import type { DomainsReport } from '../app-hosts/domain-status.ts';
import type { DomainsField } from '../app-hosts/domains.ts';
import type { Condition } from '../conditions/conditions.ts';
import type { PodSettings } from '../pod-settings/pod-settings.ts';
import type { Ceilings } from '../resource-spec/effective-spec.ts';
import type { ResourceSpec } from '../resource-spec/resource-spec.ts';
import type { RevisionStatus } from '../revision/states.ts';
import type { RunSettings } from '../run-settings/run-settings.ts';
import type { SchedulesField } from '../schedules/schedules.ts';
import type { Upload } from '../uploads/upload.ts';
import type { DeploymentType, Source } from './source.ts';

/** Default namespace, if neither the deployment nor its listener specifies one. */
export const FALLBACK_NAMESPACE = 'default';

/**
 * source_config as stored: unset fields are null, apart from the pod settings, domains and schedules, which are then absent. The
 * names equal the names in the API.
 */
export interface SourceConfig extends PodSettings, DomainsField, SchedulesField {
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
  /**
   * The limits of defaults from the policy at the time of the change. Set by the server and not shown. Absent: no
   * limits.
   */
  default_ceilings?: Ceilings | undefined;
}

/** source_revision_config as stored. Only the server sets `repo_commit_sha`. Unset run settings are absent. */
export interface SourceRevisionConfig extends RunSettings {
  repo_ref: string | null;
  workflow_config_path: string | null;
  image_uri: string | null;
  repo_commit_sha: string | null;
  /** The uploaded folder from which the revision is built. Set by the server. Absent: the revision has no upload. */
  upload?: Upload | undefined;
}

/**
 * A secret of a revision: an environment variable of the app container. Only store, api and listener have access to the
 * values.
 */
export interface Secret {
  name: string;
  value: string;
}

/** The last reported state of a deployment. */
export interface Observation {
  /** The generation of the hub that the operator observed. */
  generation: number;
  conditions: Condition[];
  url: string | null;
  /** The additional hosts. Absent or null: not reported, or there are no hosts. */
  domains?: DomainsReport | null;
  /** Whether the operator observed that no pods run. */
  off: boolean;
  /** Whether database and cache are ready (or external). */
  dataReady: boolean;
  observedAt: Date;
}

/** A deployment as the hub stores it. */
export interface Deployment {
  id: string;
  tenantId: string;
  name: string;
  source: Source;
  sourceConfig: SourceConfig;
  /** Incremented by each change of the desired state. Starts at 1. */
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
  /** When the deletion was requested. null: the deployment is not being deleted. */
  deleteRequestedAt: Date | null;
  /** End of the grace period, until which the deployment can be restored. null: the deployment is not being deleted. */
  purgeAfter: Date | null;
  observation: Observation | null;
  /** The token of the tenant for TXT records of its hosts. Absent or null: the deployment has no additional hosts. */
  domainToken?: string | null;
}

/** A revision: one immutable version of source_revision_config and secrets. */
export interface Revision {
  id: string;
  deploymentId: string;
  /** Sequence number within the deployment: 1, 2, 3 … */
  number: number;
  status: RevisionStatus;
  reason: string | null;
  message: string | null;
  sourceRevisionConfig: SourceRevisionConfig;
  /** The image with its digest, if it was resolved or built. */
  resolvedImage: string | null;
  createdAt: Date;
  updatedAt: Date;
  deployedAt: Date | null;
}
