import type { Condition, Reason } from '../../../domain/conditions/conditions.ts';
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
import type { Actor } from './events.ts';

/** Sealed secrets with their context. `openSecrets` of secret-box.ts decrypts them. */
export interface SealedSecrets {
  id: string;
  tenantId: string;
  deploymentId: string;
  keyId: string;
  sealed: Buffer;
}

/** A deployment with everything that its response shows. One query reads it, in lists too. */
export interface DeploymentRecord extends Deployment {
  /** Derived when read (see status.ts). */
  status: DeploymentStatus;
  /** Of the latest revision; before the first one: as sent. */
  sourceRevisionConfig: SourceRevisionConfig;
  /** Of the latest revision; before the first one: as sent. null: none. */
  secrets: SealedSecrets | null;
  deploymentType: DeploymentType | null;
  imageVersion: string | null;
  hasRunnableRevision: boolean;
  /** The generation that the listener has applied in the cluster; 0: none. */
  acknowledgedGeneration: number;
  deleteTracingProject: boolean;
  /** As last reported: from the observation, or from a rejection before or after it. */
  conditions: Condition[];
  /**
   * Capacity of the database's volume in Gi while it differs from the desired size; null: it does not, or is not known.
   */
  volumeGi: number | null;
  /** Earlier sizes of the database's volume that are accepted again. */
  formerSizes: readonly FormerSize[];
  listener: {
    everSeen: boolean;
    /** The listener holds a lease, its cluster responds, and it has reported its inventory. */
    alive: boolean;
    lastSeenAt: Date | null;
    leased: boolean;
    /** The listener reconnected and has not reported its inventory yet; absent: it has. */
    returning?: boolean;
    /**
     * Why it does not observe the deployment's namespace. '': the namespace is not in its list; null or absent: it
     * does.
     */
    unseen?: string | null;
    /** Since when it is not alive. */
    lostAt: Date | null;
  };
}

/**
 * Secrets of a new revision: new values, or an existing set of the same deployment (unchanged in a PATCH, an older
 * revision's in a rollback; `id: null`: none).
 */
export type SecretsSource =
  | { readonly kind: 'values'; readonly secrets: readonly Secret[] }
  | { readonly kind: 'set'; readonly id: string | null };

/** A revision to create. The store assigns its number. */
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
  /** contract/resource/names.ts appName(name, id). */
  appName: string;
  namespace: string;
  listenerId: string;
  imageVersion: string | null;
  /** null: internal_image without an image. */
  revision: NewRevision | null;
  /** Its quota usage; absent: measured on demand. */
  usage?: QuotaUsage;
  actor: Actor;
}

/** The whole desired state after a change, merged by the caller. */
export interface DesiredChange {
  /** The generation that the change is based on. Another one now: StaleWrite. */
  expectedGeneration: number;
  sourceConfig: SourceConfig;
  sourceRevisionConfig: SourceRevisionConfig;
  secrets: SecretsSource;
  imageVersion: string | null;
  /** null: no new revision. */
  revision: NewRevision | null;
  /** Its quota usage; absent: measured on demand. */
  usage?: QuotaUsage;
  /** Earlier sizes of the database's volume, when its size changes; absent: unchanged. */
  formerSizes?: readonly FormerSize[] | undefined;
  actor: Actor;
  /** Type of the event; default Patched. */
  reason?: Reason;
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
  /** The cluster of the listener (domain/deployment/cluster-id.ts); null: the next one that takes the lease. */
  clusterId: string | null;
  clusterReachable: boolean;
  /** As reported with the lease (contract/render/render-config.ts); null: not reported yet. */
  rendering: unknown;
  /** Ids of custom resources in the cluster that belong to no deployment. */
  unknownResources: string[];
  everSeen: boolean;
  /** The listener holds a valid lease, and its cluster responds: the status is CONNECTED. */
  alive: boolean;
  /** Derived from the lease when read. */
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
