import type { Condition } from '../../../domain/conditions/conditions.ts';
import type { EventReason } from '../../../domain/conditions/event-reasons.ts';
import type {
  Deployment,
  Secret,
  SourceConfig,
  SourceRevisionConfig,
} from '../../../domain/deployment/deployment.ts';
import type { DeploymentType, Source } from '../../../domain/deployment/source.ts';
import type { QuotaUsage } from '../../../domain/policy/quota-usage.ts';
import type { FormerSize } from '../../../domain/resource-spec/former-sizes.ts';
import type { DeploymentStatus, ListenerStatus, RevisionStatus } from '../../../domain/revision/states.ts';
import type { ComputeConfig } from '../schema/listeners.ts';
import type { GenerationAuthor } from '../sql/fragments/generation-author.ts';
import type { Actor } from './events.ts';

/** Encrypted secrets with their context. `openSecrets` of secret-box.ts decrypts the secrets. */
export interface SealedSecrets {
  id: string;
  tenantId: string;
  deploymentId: string;
  keyId: string;
  sealed: Buffer;
}

/** A deployment with all values of its response. One query reads all these values, also for lists. */
export interface DeploymentRecord extends Deployment {
  /** The status, derived when the record is read (see status.ts). */
  status: DeploymentStatus;
  /** The token of the tenant for TXT records; null: the deployment has no additional hosts. */
  domainToken: string | null;
  /** The source_revision_config of the latest revision; before the first revision, the value as it was sent. */
  sourceRevisionConfig: SourceRevisionConfig;
  /** Secrets of the latest revision; before the first revision, the secrets as they were sent. null: no secrets. */
  secrets: SealedSecrets | null;
  /** The author of the last change; null or absent: not known. */
  updatedBy?: GenerationAuthor | null;
  deploymentType: DeploymentType | null;
  imageVersion: string | null;
  hasRunnableRevision: boolean;
  /** The generation that the listener has applied in the cluster; 0: no generation. */
  acknowledgedGeneration: number;
  deleteTracingProject: boolean;
  /** The last reported conditions, from the observation, or from a rejection before or after it. */
  conditions: Condition[];
  /**
   * Capacity of the database's volume in Gi while it differs from the desired size; null: it does not differ, or is not
   * known.
   */
  volumeGi: number | null;
  /** Earlier sizes of the database's volume that are accepted again. */
  formerSizes: readonly FormerSize[];
  listener: {
    everSeen: boolean;
    /** Whether the listener holds a lease, its cluster responds, and it has reported its inventory. */
    alive: boolean;
    lastSeenAt: Date | null;
    leased: boolean;
    /** Whether the listener has reconnected and has not reported its inventory yet; absent: it has reported it. */
    returning?: boolean;
    /**
     * Why the listener does not observe the deployment's namespace. '': the namespace is not in its list; null or
     * absent: the listener observes it.
     */
    unseen?: string | null;
    /** Time since which the listener is not alive. */
    lostAt: Date | null;
  };
}

/**
 * Secrets of a new revision: new values, or an existing set of the same deployment. A PATCH without new secrets keeps
 * the set, and a rollback uses the set of an older revision. `id: null`: no secrets.
 */
export type SecretsSource =
  | { readonly kind: 'values'; readonly secrets: readonly Secret[] }
  | { readonly kind: 'set'; readonly id: string | null };

/** A revision to create, whose number the store assigns. */
export interface NewRevision {
  /** UUID v7. */
  id: string;
  status: RevisionStatus;
  reason?: string;
  message?: string;
  resolvedImage?: string;
}

/** A deployment to create. */
export interface NewDeployment {
  /** UUID v7. */
  id: string;
  name: string;
  source: Source;
  sourceConfig: SourceConfig;
  sourceRevisionConfig: SourceRevisionConfig;
  secrets: readonly Secret[];
  /** Result of appName(name, id) in contract/resource/names.ts. */
  appName: string;
  namespace: string;
  listenerId: string;
  imageVersion: string | null;
  /** null: internal_image without an image. */
  revision: NewRevision | null;
  /** Quota usage of the deployment; absent: it is measured on demand. */
  usage?: QuotaUsage;
  actor: Actor;
}

/** The whole desired state after a change, merged by the caller. */
export interface DesiredChange {
  /** The generation that the change is based on. If the stored generation differs, the write fails with StaleWrite. */
  expectedGeneration: number;
  sourceConfig: SourceConfig;
  sourceRevisionConfig: SourceRevisionConfig;
  secrets: SecretsSource;
  imageVersion: string | null;
  /** null: the change creates no revision. */
  revision: NewRevision | null;
  /** Quota usage of the deployment; absent: it is measured on demand. */
  usage?: QuotaUsage;
  /** Earlier sizes of the database's volume, if its size changes; absent: they do not change. */
  formerSizes?: readonly FormerSize[] | undefined;
  actor: Actor;
  /** Type of the event; default Patched. */
  reason?: EventReason;
  /** For the event: names of changed fields, never a value of a secret. */
  message: string;
  details?: Record<string, unknown>;
}

/** A listener as responses show it. */
export interface ListenerRecord {
  id: string;
  /** null: the platform's listener. */
  tenantId: string | null;
  computeType: string;
  computeId: string;
  computeConfig: ComputeConfig;
  version: string | null;
  clusterVersion: string | null;
  /** The cluster of the listener (domain/deployment/cluster-id.ts); null: the next cluster that takes the lease. */
  clusterId: string | null;
  clusterReachable: boolean;
  /**
   * The rendering configuration that was reported with the lease (contract/render/render-config.ts); null: not reported
   * yet.
   */
  rendering: unknown;
  /** Ids of custom resources in the cluster that belong to no deployment. */
  unknownResources: string[];
  everSeen: boolean;
  /** Whether the status is CONNECTED, that is, the listener holds a valid lease and its cluster responds. */
  alive: boolean;
  /** The status, derived from the lease when the record is read. */
  status: ListenerStatus;
  lastSeenAt: Date | null;
  createdAt: Date;
  updatedAt: Date;
}

/** A page of a list: `limit` rows after the first `offset`. */
export interface Page {
  limit: number;
  offset: number;
}
