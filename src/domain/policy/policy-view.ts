import type { BodyIssue } from '../core/body-issue.ts';
import type { Secret, SourceConfig } from '../deployment/deployment.ts';
import type { EffectiveResourceSpec } from '../resource-spec/effective-spec-schema.ts';
import type { ResourceSpec } from '../resource-spec/resource-spec.ts';
import type { Caps } from './policy.ts';

/** What the policy's rules look at. */
export interface PolicyInput {
  /** As it would be stored. */
  readonly sourceConfig: SourceConfig;
  /**
   * As it is stored, where the deployment is there already: of what its tenant cannot take back, which are a URL that the
   * server gave and the size of a volume, only what differs from it is judged. Absent: it is to be made.
   */
  readonly stored?: SourceConfig;
  /**
   * Where the stored database is the tenant's own, and is not to be from now on: the volume that is kept of the time before,
   * GiB; 0: there is none. Absent: the stored size is that of the volume.
   */
  readonly keptVolumeGi?: number;
  /** As it would be stored: what is measured is its count and size. */
  readonly secrets: readonly Secret[];
  /** Base name of the deployment's own objects. */
  readonly appName: string;
  /** URL that the server itself gives the deployment, allowed whatever the policy says; null: none. */
  readonly serverUrl: string | null;
  /** Host of this API itself; null: not known. */
  readonly ownHost: string | null;
  /** Hosts of the other parts of the platform: registry, tracing and so on; absent: none is known. */
  readonly platformHosts?: readonly string[];
}

/** What the rules of pods look at. */
export interface PodView {
  readonly spec: ResourceSpec;
  /** Base name of the deployment's own objects. */
  readonly appName: string;
  readonly caps: Caps;
}

/** A PolicyInput with what several checks need. */
export interface PolicyView extends PolicyInput {
  readonly spec: ResourceSpec;
  readonly effective: EffectiveResourceSpec;
  readonly caps: Caps;
}

export type Violation = Omit<BodyIssue, 'type'>;
