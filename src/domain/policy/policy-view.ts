import type { BodyIssue } from '../core/body-issue.ts';
import type { Secret, SourceConfig } from '../deployment/deployment.ts';
import type { PodSettings } from '../pod-settings/pod-settings.ts';
import type { EffectiveResourceSpec } from '../resource-spec/effective-spec-schema.ts';
import type { ResourceSpec } from '../resource-spec/resource-spec.ts';
import type { Variable } from '../run-settings/run-settings.ts';
import type { Caps } from './policy.ts';

/** Input of the policy rules. */
export interface PolicyInput {
  /** source_config as it would be stored. */
  readonly sourceConfig: SourceConfig;
  /**
   * The stored values of an existing deployment. Values that a tenant cannot revert (the URL of the server and the size
   * of the volume) are checked only if they change. Absent: the deployment is being created.
   */
  readonly stored?: SourceConfig;
  /**
   * Size in GiB of the volume that was kept, if a deployment switches from a database of the tenant back to a database
   * of Berth. 0: no volume was kept. Absent: the volume has the stored size.
   */
  readonly keptVolumeGi?: number;
  /** The secrets to store. The number and the size of the secrets are checked. */
  readonly secrets: readonly Secret[];
  /** The secrets that they replace. A number or size that does not grow is allowed. Absent: none. */
  readonly storedSecrets?: readonly Secret[];
  /** The env of the revision to store. Absent: none. */
  readonly env?: readonly Variable[];
  /** The env that it replaces. A number or size that does not grow is allowed. Absent: none. */
  readonly storedEnv?: readonly Variable[];
  /** Base name of the objects of the deployment. */
  readonly appName: string;
  /** URL that the server assigns, which is always allowed. null: none. */
  readonly serverUrl: string | null;
  /** Host of this API. null: not known. */
  readonly ownHost: string | null;
  /**
   * Hosts of the other parts of the platform, such as registry and tracing. Absent: no host of another part is known.
   */
  readonly platformHosts?: readonly string[];
  /** Domain below which the server assigns URLs. Absent or null: none. */
  readonly appDomain?: string | null;
}

/** Input of the rules for pods. */
export interface PodView {
  readonly spec: ResourceSpec;
  readonly settings: PodSettings;
  /** Base name of the deployment's own objects. */
  readonly appName: string;
  readonly caps: Caps;
}

/** A PolicyInput with derived values that several checks need. */
export interface PolicyView extends PolicyInput {
  readonly spec: ResourceSpec;
  readonly settings: PodSettings;
  readonly effective: EffectiveResourceSpec;
  readonly caps: Caps;
}

export type Violation = Omit<BodyIssue, 'type'>;
